import t from 'tap';
import { examineExplanations } from '../../../exam/decisions/explanations.ts';
import { anyLimits, plainLimits } from '../../../exam/decisions/random-rules.ts';
import { allStoreKinds } from '../../../support/stores.ts';

// A Redis without scripts has fixed windows only.
const [memory, tcp, withoutScripts] = await allStoreKinds(t);
for (const kind of [memory, tcp]) {
  t.test(kind.name, async t => {
    examineExplanations(t, () => kind.open(t), anyLimits);
  });
}
t.test(withoutScripts.name, async t => {
  examineExplanations(t, () => withoutScripts.open(t), plainLimits);
});
