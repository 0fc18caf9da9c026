import { MAX_RESOURCES, type Resource } from '../../../messages/discovery-codec.ts';
import { MAX_REPORTED_FAULTS, type RuleFile } from '../../rule-set.ts';

/** The kind of resource that holds the rules of a domain. */
export const CONFIG_TYPE_URL = 'type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig';

/** The resources of a response as rule files, or what keeps them from being tried. */
interface ResourceFiles {
  readonly files: readonly RuleFile[];
  readonly faults: readonly string[];
}

/** Whether a type URL names that kind; only what stands behind its last slash counts (protobuf, `Any`). */
export function isConfigType(typeUrl: string): boolean {
  return typeUrl.slice(typeUrl.lastIndexOf('/')) === CONFIG_TYPE_URL.slice(CONFIG_TYPE_URL.lastIndexOf('/'));
}

/** Resources go by their place in the response until their own name is read. */
export function resourceFiles(resources: readonly Resource[]): ResourceFiles {
  if (resources.length > MAX_RESOURCES) {
    return {
      files: [],
      faults: [`there are more than ${MAX_RESOURCES} resources: put more rules into each`],
    };
  }
  const faults = resources.flatMap(({ typeUrl }, index) =>
    isConfigType(typeUrl)
      ? []
      : [`resources[${index}]: the type is ${JSON.stringify(typeUrl)}, and only ${CONFIG_TYPE_URL} is read`],
  );
  const files = resources.map(
    // A copy: to hand a view to another thread would take all that it is a view of along.
    ({ value }, index): RuleFile => ({
      name: `resources[${index}]`,
      content: value.slice(),
      format: 'resource',
    }),
  );
  return { files, faults: faults.slice(0, MAX_REPORTED_FAULTS) };
}
