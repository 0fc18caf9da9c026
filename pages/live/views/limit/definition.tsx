import { CopyBlock } from '../../../design/copy-block.tsx';
import { Facts, Panel } from '../../../design/panel.tsx';
import type { LimitDetails, RulePlace } from '../../api.ts';

function written({ file, line }: RulePlace) {
  return <code class="break">{`${file}:${line}`}</code>;
}

/** How the limit is configured, and where. */
export function Definition({ limit }: { readonly limit: LimitDetails }) {
  const { place, resource, overlay, definition, statistics } = limit;
  return (
    <Panel title="Definition">
      <div class="definition">
        <Facts
          items={[
            ['Place', place === null ? `resource ${resource} of the xDS server` : written(place)],
            ...(overlay === null ? [] : [['Changed by overlay', written(overlay)] as const]),
            ['Statistics', <code class="break">{statistics}</code>],
          ]}
        />
        <CopyBlock label="The rule, without its neighbors" text={definition} />
      </div>
    </Panel>
  );
}
