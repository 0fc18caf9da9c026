import { CopyBlock } from '../../../design/copy-block.tsx';
import { Facts, Panel } from '../../../design/panel.tsx';
import type { LimitDetails } from '../../api.ts';

/** How the limit is configured, and where. */
export function Definition({ limit }: { readonly limit: LimitDetails }) {
  const { place, definition, statistics } = limit;
  return (
    <Panel title="Definition">
      <div class="definition">
        <Facts
          items={[
            ['Place', place === null ? 'from the xDS server' : <code>{`${place.file}:${place.line}`}</code>],
            ['Statistics', <code class="break">{statistics}</code>],
          ]}
        />
        <CopyBlock label="The rule, without its neighbors" text={definition} />
      </div>
    </Panel>
  );
}
