import { askOverHttp, statistic } from '../asking.ts';
import { Envoy, type Substitutions } from '../envoy.ts';
import { type ModelAnswer, type ModelRequest, ModelServer } from '../model-server.ts';
import { type ServiceProcess, serviceFor } from '../service.ts';
import type { Teardown } from '../stores.ts';

/** What a client asks the model for, and how the model will answer. */
export interface ModelCall extends Partial<ModelAnswer> {
  readonly max_tokens?: unknown;
  readonly signal?: AbortSignal;
}

/** What a client was told; the status is 0 if the answer was cut off, or did not come. */
export interface ModelReply {
  readonly status: number;
  readonly text: string;
}

/** Addresses of a file of ops/envoy. */
export function addresses(upstream: number, sluice: string): Substitutions {
  return [
    ['address: upstream, port_value: 80 ', `address: 127.0.0.1, port_value: ${upstream} `],
    ['address: sluice, port_value: 8081 ', `address: 127.0.0.1, port_value: ${sluice.split(':').at(-1)} `],
  ];
}

/** Asks the model behind an Envoy. */
export async function askModel(
  envoy: Envoy,
  user: string,
  { signal, ...body }: ModelCall,
  headers: Readonly<Record<string, string>> = {},
): Promise<ModelReply> {
  let status = 0;
  try {
    const response = await fetch(`http://${envoy.front}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-user': user, ...headers },
      body: JSON.stringify(body),
      ...(signal !== undefined && { signal }),
    });
    status = response.status;
    return { status, text: await response.text() };
  } catch {
    return { status: status === 200 ? 0 : status, text: '' };
  }
}

interface GatewayOptions {
  /** See `ModelServer.start`. */
  readonly answerOf?: (request: ModelRequest) => ModelAnswer;
  /** What is different in the file of Envoy, besides addresses. */
  readonly substitutions?: Substitutions;
  /** Settings of Sluice. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A model behind the Envoy of ops/envoy/budgets.yaml, whose limits are those of the rules. */
export class ModelGateway {
  readonly model: ModelServer;
  readonly sluice: ServiceProcess;
  readonly envoy: Envoy;

  private constructor(model: ModelServer, sluice: ServiceProcess, envoy: Envoy) {
    this.model = model;
    this.sluice = sluice;
    this.envoy = envoy;
  }

  static async start(
    t: Teardown,
    rules: string,
    { answerOf, substitutions = [], env = {} }: GatewayOptions = {},
  ): Promise<ModelGateway> {
    const model = await ModelServer.start(t, answerOf);
    // Each Envoy has a connection of its own, which one of two threads serves.
    const sluice = await serviceFor(t, { rules, env: { SERVE_THREADS: '2', ...env } });
    return new ModelGateway(model, sluice, await startEnvoy(t, model, sluice, substitutions));
  }

  /** A second Envoy in front of the same model, which asks this process of Sluice. */
  another(t: Teardown, sluice = this.sluice): Promise<Envoy> {
    return startEnvoy(t, this.model, sluice, []);
  }

  ask(user: string, call: ModelCall): Promise<ModelReply> {
    return askModel(this.envoy, user, call);
  }

  /** What is left of the limit of a descriptor with one entry. Nothing is counted. */
  async left(key: string, value: string): Promise<number> {
    const descriptors = [{ entries: [{ key, value }], hitsAddend: 0 }];
    const { body } = await askOverHttp(this.sluice.http, { domain: 'ai', descriptors });
    return Number(body.statuses?.[0]['limitRemaining'] ?? 0);
  }

  /** A statistic of the leases of the rule with this key: `held`, `settled`, `expired` or `overdrawn`. */
  counted(key: string, what: string, sluice = this.sluice): Promise<number> {
    return statistic(sluice.debug, `ratelimit.service.rate_limit.ai.${key}.${what}.total_hits`);
  }
}

function startEnvoy(
  t: Teardown,
  model: ModelServer,
  sluice: ServiceProcess,
  substitutions: Substitutions,
): Promise<Envoy> {
  return Envoy.start(t, 'budgets.yaml', [...addresses(model.port, sluice.grpc), ...substitutions]);
}
