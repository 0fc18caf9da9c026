import { KeyDownload, ProviderKeys } from '../../../src/tasks/identity/provider-keys.ts';
import { type TokenRules, VerifiedTokens } from '../../../src/tasks/identity/verified-tokens.ts';
import type { JwtConfig } from '../../../src/tasks/rest/http/parts.ts';
import type { ManualClock } from '../manual-clock.ts';
import { AUDIENCE, IdentityProvider, ISSUER, type ProviderKey } from './identity-provider.ts';
import { type Answered, type Asked, HARNESS_START_MS, RestHarness } from './rest-harness.ts';

export interface JwtSceneOptions {
  readonly rules?: Partial<TokenRules>;
  readonly jwt?: Partial<JwtConfig>;
}

/**
 * A REST service with the account `acme` and an identity provider with one key. The member of the account whose
 * `external_id` is `ann` has not got any token of the service.
 */
export class JwtScene {
  readonly rest: RestHarness;
  readonly provider: IdentityProvider;
  /** Of the owner of the account. */
  readonly owner: string;
  readonly key: ProviderKey;
  readonly ann: string;

  constructor(parts: Pick<JwtScene, 'rest' | 'provider' | 'owner' | 'key' | 'ann'>) {
    this.rest = parts.rest;
    this.provider = parts.provider;
    this.owner = parts.owner;
    this.key = parts.key;
    this.ann = parts.ann;
  }

  static async open(
    t: { teardown(run: () => unknown): void },
    { rules = {}, jwt = {} }: JwtSceneOptions = {},
  ): Promise<JwtScene> {
    const time: { clock: ManualClock | null } = { clock: null };
    const provider = await IdentityProvider.open(t, () => time.clock?.nowMs() ?? HARNESS_START_MS);
    const rest = new RestHarness({
      config: {
        jwt: { tenantClaim: rules.tenantClaim ?? '', autoProvision: false, defaultRole: 'member', ...jwt },
      },
      identities: (clock, logger) => {
        time.clock = clock;
        const download = new KeyDownload(provider.url, clock);
        t.teardown(() => download.stop());
        const all = { issuer: ISSUER, audience: AUDIENCE, tenantClaim: '', roleClaim: '', ...rules };
        return new VerifiedTokens(all, new ProviderKeys(() => download.read(), clock, logger), clock);
      },
    });
    const key = await provider.addKey();
    const { token: owner } = await rest.signUp();
    const made = await rest.ask('POST', '/api/v1/users', {
      token: owner,
      body: { email: 'ann@acme.test', external_id: 'ann', role: 'member' },
    });
    return new JwtScene({ rest, provider, owner, key, ann: made.json.id });
  }

  /** Asks for the user `ann`, which a member may read. */
  ask(token: string | undefined, asked: Asked = {}): Promise<Answered> {
    return this.rest.ask('GET', `/api/v1/users/${this.ann}`, { ...asked, token });
  }

  /** The status and the code of the answer to a token with these claims. */
  async try(token: string): Promise<string> {
    const { status, json } = await this.ask(token);
    return status === 200 ? '200' : `${status} ${json.code}: ${json.detail}`;
  }
}
