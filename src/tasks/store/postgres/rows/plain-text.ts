import type { Actor } from '../../../model/task.ts';
import { actorOf, actorText } from '../../actor-text.ts';

/** A text in PostgreSQL has no U+0000 and no lone surrogates, which callers may give. */
const ESCAPED = /[\\\0\p{Cs}]/gu;

/** The form in which a text of callers is stored. JSON texts need none of it. */
export function storedText(text: string): string {
  return text.replace(ESCAPED, unit => `\\${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** @param text of {@link storedText} */
export function givenText(text: string): string {
  return text.replace(/\\([0-9a-f]{4})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
}

export function storedActor(actor: Actor): string {
  return storedText(actorText(actor));
}

/** @param text of {@link storedActor} */
export function givenActor(text: string): Actor {
  return actorOf(givenText(text));
}
