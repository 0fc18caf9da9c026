/** The name of a method, in a color that says what it does to the resource. */
export function MethodName({ method }: { readonly method: string }) {
  return <span class={`method method-${method.toLowerCase()}`}>{method}</span>;
}
