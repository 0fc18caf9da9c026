import { Button } from '../../../design/button.tsx';
import { Chip } from '../../../design/chip.tsx';
import { Choices } from '../../../design/choices.tsx';
import { Link, navigate, useRoute } from '../../../design/route.ts';
import type { Limit, LimitDetails } from '../../api.ts';
import type { Changing } from '../../change/change-dialog.tsx';

interface LimitHeadProps {
  /** The limits of the rule; most rules have one. */
  readonly limits: readonly Limit[];
  readonly chosen: LimitDetails;
  readonly onChange: (changing: Changing) => void;
}

/** The name of the limit, what it means, and the changes that concern all of its keys. */
export function LimitHead({ limits, chosen, onChange }: LimitHeadProps) {
  const { query } = useRoute();
  const { domain, path, entries, meaning, shadow_mode, quota_mode, unlimited } = chosen;
  const begin = (kind: Changing['kind']) =>
    onChange({ kind, descriptor: { domain, entries }, limit: chosen.requests_per_unit });
  return (
    <header class="limit-head">
      <div class="limit-title">
        <p class="eyebrow">How is this limit used, and by whom?</p>
        <h1 title={path}>
          <Link query={{ view: 'limits', domain }} class="limit-domain">
            {domain}
          </Link>
          <span class="quiet"> › </span>
          {path.startsWith(`${domain}.`) ? path.slice(domain.length + 1) : path}
        </h1>
        <p class="limit-words">
          {meaning}
          {shadow_mode && <Chip kind="shadow">Shadow</Chip>}
          {quota_mode && <Chip kind="neutral">Quota</Chip>}
        </p>
        {limits.length > 1 && (
          <Choices
            label="Limit of the rule"
            options={Object.fromEntries(limits.map(({ meaning: words }) => [words, words]))}
            value={chosen.meaning}
            onChoose={as => navigate('/', { ...query, as })}
          />
        )}
      </div>
      <div class="actions">
        {!unlimited && <Button onClick={() => begin('override')}>Override…</Button>}
        <Button onClick={() => begin('pass')}>Let pass…</Button>
        <Button kind="caution" onClick={() => begin('ban')}>
          Ban…
        </Button>
      </div>
    </header>
  );
}
