import type { Actor } from '../model/task.ts';

/** The form of actors in stores: `type:id`. */
export function actorText({ type, id }: Actor): string {
  return `${type}:${id}`;
}

/** @param text of {@link actorText} */
export function actorOf(text: string): Actor {
  const colon = text.indexOf(':');
  return { type: text.slice(0, colon) as Actor['type'], id: text.slice(colon + 1) };
}
