import type { Clock } from '../../base/clock.ts';
import type { LastingThread } from '../../base/threads/lasting-thread.ts';
import { askAll, Questions, type ThreadAnswer } from '../../base/threads/questions.ts';
import type { DeskQuestion, DeskView } from '../../quota/desk-view.ts';
import { mergedView, type ProcessQuotas } from '../../quota/merged-view.ts';
import type { ToServingThread } from './messages.ts';

type Thread = Pick<LastingThread<ToServingThread>, 'post'>;

/** How long a look waits for the threads. */
const MAX_WAIT_MS = 1_000;

/** What threads have answered. */
interface Answers {
  readonly views: readonly DeskView[];
  /** False if a thread has not answered. */
  readonly isComplete: boolean;
}

/** Looks at the desks of the serving threads, from the primary thread. */
export class QuotaLooks {
  readonly #threads: () => Iterable<Thread>;
  readonly #clock: Clock;
  /** The questions that each thread has not answered. */
  readonly #asked = new Map<Thread, Questions<DeskView>>();

  /** @param threads returns the threads that accept messages */
  constructor(threads: () => Iterable<Thread>, clock: Clock) {
    this.#threads = threads;
    this.#clock = clock;
  }

  /** Looks at all desks. The caller bounds the number of looks at the same time. */
  async look(question: DeskQuestion): Promise<ProcessQuotas> {
    const { views, isComplete } = await this.#ask(question);
    const view = mergedView(views, question);
    if (views.length < 2 || views.every(isWhole)) return { view, isComplete };
    // A bucket with much demand in one thread can have little in another one, which has not listed it.
    const names = view.buckets.map(({ name }) => name);
    const again = await this.#ask({ ...question, names });
    const { buckets } = mergedView(again.views, question);
    return { view: { ...view, buckets }, isComplete: isComplete && again.isComplete };
  }

  /** A thread has answered the question with this number. */
  answered(thread: Thread, number: number, answer: ThreadAnswer<DeskView>): void {
    this.#asked.get(thread)?.answered(number, answer);
  }

  ended(thread: Thread): void {
    this.#asked.get(thread)?.lost('the serving thread ended');
    this.#asked.delete(thread);
  }

  async #ask(question: DeskQuestion): Promise<Answers> {
    const views: DeskView[] = [];
    const ask = async (thread: Thread): Promise<void> => {
      const questions = this.#asked.get(thread) ?? new Questions<DeskView>();
      this.#asked.set(thread, questions);
      views.push(await questions.ask(number => thread.post({ kind: 'quotas', number, question })));
    };
    const threads = [...this.#threads()];
    await askAll(threads, ask, this.#clock, MAX_WAIT_MS);
    // An answer that comes later does not change what this one has.
    return { views: [...views], isComplete: views.length === threads.length };
  }
}

function isWhole({ totals, buckets }: DeskView): boolean {
  return totals.buckets === buckets.length;
}
