import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Settings } from '../../settings/table.ts';
import type { VerifiedTokens } from '../../tasks/identity/verified-tokens.ts';

/** The identity provider of the settings, as one thread uses it. */
export interface IdentityProvider {
  readonly identities: VerifiedTokens;
  /** Ends a download that is in progress. */
  stop(): void;
}

/** Loads the code for JSON Web Tokens. Returns null without loading it if no provider is configured. */
export async function identityProvider(
  settings: Settings,
  clock: Clock,
  logger: Logger,
): Promise<IdentityProvider | null> {
  if (settings.tasksJwtIssuer === '') return null;
  const [{ KeyDownload, ProviderKeys }, { VerifiedTokens }] = await Promise.all([
    import('../../tasks/identity/provider-keys.ts'),
    import('../../tasks/identity/verified-tokens.ts'),
  ]);
  const download = new KeyDownload(settings.tasksJwtJwksUrl, clock);
  const rules = {
    issuer: settings.tasksJwtIssuer,
    audience: settings.tasksJwtAudience,
    tenantClaim: settings.tasksJwtTenantClaim,
    roleClaim: settings.tasksJwtRoleClaim,
  };
  const keys = new ProviderKeys(() => download.read(), clock, logger);
  return { identities: new VerifiedTokens(rules, keys), stop: () => download.stop() };
}
