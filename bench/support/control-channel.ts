/*
 * What goes over the IPC channel between a bench and a process that it started.
 *
 *     child ──ready──▶ bench      once, when the child does what it is for
 *     bench ──question──▶ child   any number, also while others are open
 *     child ──answer or failure──▶ bench   one for each question, by its number
 *
 * When the channel closes, the child ends: no child outlives a bench that was killed.
 */

export interface Question {
  readonly number: number;
  readonly name: string;
  readonly argument: unknown;
}

export type Reply =
  | { readonly kind: 'ready'; readonly value: unknown }
  | { readonly kind: 'answer'; readonly number: number; readonly value: unknown }
  | { readonly kind: 'failure'; readonly number: number; readonly message: string };

/** What a child can be asked, by name; arguments and values are those that JSON can carry. */
// biome-ignore lint/suspicious/noExplicitAny: any function of one argument; `never` would refuse to call it
export type Answers = Readonly<Record<string, (argument: any) => unknown>>;

/** The child's half: says that it is ready, with a value for the bench, and answers its questions from then on. */
export function answerBench(ready: unknown, answers: Answers): void {
  const send = (reply: Reply): void => {
    process.send?.(reply);
  };
  process.on('disconnect', () => process.exit());
  process.on('message', async (question: Question) => {
    const { number, name, argument } = question;
    try {
      send({ kind: 'answer', number, value: await answers[name](argument) });
    } catch (failure) {
      send({ kind: 'failure', number, message: (failure as Error).message });
    }
  });
  send({ kind: 'ready', value: ready });
}
