import { useEffect, useState } from 'preact/hooks';
import { SameAs } from '../../../design/change-form.tsx';
import { navigate, useRoute } from '../../../design/route.ts';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { explainCommands } from '../../change/commands.ts';
import { Answer } from './answer.tsx';
import { type Explanation, explain, type Question, questionQuery, readQuestion } from './explanation.ts';
import { QuestionForm } from './question-form.tsx';

/** What would become of a request, and why. The address has the question, so a link asks it again. */
export function ExplainView() {
  const { query } = useRoute();
  const question = readQuestion(query);
  const asked = JSON.stringify(question);
  const isComplete = question.domain !== '' && question.descriptors.length > 0;
  const [state, setState] = useState<{
    readonly asked: string;
    readonly explanation?: Explanation;
    readonly error?: Error;
  }>({ asked: '' });
  const [round, setRound] = useState(0);
  // The same question again begins another round, because counts change.
  useEffect(() => {
    if (!isComplete) return;
    const end = new AbortController();
    explain(JSON.parse(asked) as Question, end.signal).then(
      explanation => setState({ asked, explanation }),
      (error: Error) => {
        if (!end.signal.aborted) setState({ asked, error });
      },
    );
    return () => end.abort();
  }, [asked, isComplete, round]);
  const submit = (next: Question) => {
    if (JSON.stringify(next) === asked) setRound(was => was + 1);
    else navigate('/', { view: 'explain', ...questionQuery(next) });
  };
  return (
    <>
      <h1>What would happen to this request?</h1>
      <div class="explain">
        <QuestionForm key={asked} question={question} onAsk={submit} />
        <AnswerOf
          isComplete={isComplete}
          question={question}
          shown={state.asked === asked ? state : {}}
          onRetry={() => setRound(was => was + 1)}
        />
      </div>
    </>
  );
}

interface AnswerOfProps {
  readonly isComplete: boolean;
  readonly question: Question;
  readonly shown: { readonly explanation?: Explanation; readonly error?: Error };
  readonly onRetry: () => void;
}

function AnswerOf({ isComplete, question, shown: { explanation, error }, onRetry }: AnswerOfProps) {
  if (!isComplete) {
    return (
      <Empty title="Ask about a request">
        Write the domain and the entries that the proxy sends. Sluice says which limits apply, how much of
        them is used, and what the answer would be. Nothing is counted. On the command line:{' '}
        <code>sluice explain</code>
      </Empty>
    );
  }
  if (error !== undefined) return <Failure error={error} onRetry={onRetry} />;
  if (explanation === undefined) return <Skeleton lines={8} />;
  return (
    <Answer explanation={explanation}>
      <SameAs commands={explainCommands(question.domain, question.descriptors)} />
    </Answer>
  );
}
