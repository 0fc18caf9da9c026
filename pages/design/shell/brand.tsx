/** The sign and the name of the product. */
export function Brand({ name }: { readonly name: string }) {
  return (
    <span class="brand">
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="8" />
        <path d="M8 9h16M8 16h10M8 23h4" />
      </svg>
      <span>{name}</span>
    </span>
  );
}
