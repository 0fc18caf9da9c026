/** Paths on a grid of 16 pixels, drawn as lines. */
const PATHS = {
  close: 'M4 4l8 8M12 4l-8 8',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.6 10.6L14 14',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3l8 5-8 5z',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1',
  moon: 'M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z',
  screen: 'M2 3h12v8H2zM6 14h4M8 11v3',
  table: 'M2.5 3h11v10h-11zM2.5 6.5h11M2.5 9.75h11M6.5 3v10',
  help: 'M5.8 6a2.2 2.2 0 1 1 3.3 1.9C8.4 8.3 8 8.8 8 9.5M8 12.4v.1',
  right: 'M6 3.5L10.5 8 6 12.5',
} as const;

/** The name of an icon. */
export type IconName = keyof typeof PATHS;

/** A small icon. It says nothing to assistive technology: the button around it has a label. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
