import { BlockList, isIP } from 'node:net';
import { MINUTE_MS, SECOND_MS } from '../../base/clock.ts';
import { checkedText, duration, file, flag, integer, oneOf, setting } from '../kinds/kinds.ts';
import { taskStore } from './task-store.ts';

/** A host name in lower case, of labels that certificates and cookies accept. */
const serviceHost = checkedText({
  label: 'host name',
  accepts: 'a host name in lower case, without a port, such as tasks.example.com',
  holds: text =>
    /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/.test(text),
});

const networks = checkedText({
  label: 'list of networks',
  accepts: 'networks in CIDR form separated by commas, such as 10.0.0.0/8,fd00::/8, or empty for none',
  holds: text => text === '' || text.split(',').every(isNetwork),
});

const ports = checkedText({
  label: 'list of ports',
  accepts: 'port numbers separated by commas, or empty for none',
  holds: text =>
    text === '' || text.split(',').every(port => /^[1-9]\d{0,4}$/.test(port) && Number(port) < 65_536),
});

const domains = checkedText({
  label: 'list of domains',
  accepts: 'domains of rules separated by commas and without spaces, or empty for none',
  holds: text => text === '' || text.split(',').every(domain => /^\S{1,255}$/.test(domain)),
});

const operatorToken = checkedText({
  label: 'text',
  accepts: 'at least 16 characters without spaces, or empty for none',
  holds: text => text === '' || /^[\x21-\x7e]{16,512}$/.test(text),
});

const singleLine = checkedText({
  label: 'text',
  accepts: 'up to 512 printable characters without spaces, or empty for none',
  holds: text => /^[\x21-\x7e]{0,512}$/.test(text),
});

const claimName = checkedText({
  label: 'name of a claim',
  accepts: 'up to 128 printable characters without spaces, or empty for none',
  holds: text => /^[\x21-\x7e]{0,128}$/.test(text),
});

const jwksUrl = checkedText({
  label: 'URL',
  accepts:
    'a URL that begins with https:// (http:// only for this machine), without a password, or empty for none',
  holds: text => text === '' || isKeyUrl(text),
});

/** HTTPS is required, because anyone who can change the keys in transit can log in as any user. */
function isKeyUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.username !== '' || url.password !== '' || text.length > 2_048) return false;
  const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  return url.protocol === 'https:' || (url.protocol === 'http:' && isHere);
}

const masterKey = checkedText({
  label: '32 bytes, base64 or hex',
  accepts: '32 bytes in base64 or hex ("openssl rand -base64 32" generates them), or empty for none',
  holds: text => text === '' || isMasterKey(text),
});

const masterKeys = checkedText({
  label: 'list of keys',
  accepts: 'keys of 32 bytes in base64 or hex, separated by commas, or empty for none',
  holds: text => text === '' || text.split(',').every(isMasterKey),
});

function isMasterKey(text: string): boolean {
  return /^[0-9A-Fa-f]{64}$/.test(text) || /^[A-Za-z0-9+/_-]{43}=?$/.test(text);
}

function isNetwork(text: string): boolean {
  const [address, bits, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0 || bits === undefined || !/^\d{1,3}$/.test(bits)) return false;
  try {
    new BlockList().addSubnet(address, Number(bits), family === 4 ? 'ipv4' : 'ipv6');
    return true;
  } catch {
    return false;
  }
}

/** The task service: storage, access and push deliveries. */
export const tasks = {
  title: 'Tasks',
  introduction:
    'The task service: who may use it, where tasks are stored, and how they are delivered to workers; see ' +
    'docs/tasks/guide.md.',
  settings: {
    tasksEnabled: flag(
      ['TASKS_ENABLED'],
      'Enable the task service on the HTTP port. Disabled by default; `npm start` enables it.',
    ),
    serviceHost: setting({
      names: ['SERVICE_HOST'],
      kind: serviceHost,
      default: 'localhost',
      help:
        'Base host name of the task service. A tenant is reached at its domain below this name ' +
        '(`acme.localhost`), or with a token at any host that names no tenant. Accounts are managed at ' +
        '`accounts.` and this name. URLs in responses start with `https://`; with `localhost` they start ' +
        'with `http://` and contain the port.',
    }),
    tasksTenantHeader: flag(
      ['TASKS_TENANT_HEADER'],
      'Accept the tenant in the header `X-Tenant-Domain` instead of the host name. Enable it only ' +
        'behind a proxy that removes the header from untrusted requests.',
    ),
    accountsSignup: setting({
      names: ['ACCOUNTS_SIGNUP'],
      kind: oneOf('operator', 'loopback', 'open'),
      default: 'operator',
      help:
        'Who may create accounts. `operator`: callers with `ACCOUNTS_OPERATOR_TOKEN`. `loopback`: also ' +
        'callers on this machine, unless a proxy forwarded the request. `open`: everybody.',
    }),
    accountsOperatorToken: setting({
      names: ['ACCOUNTS_OPERATOR_TOKEN'],
      kind: operatorToken,
      default: '',
      help:
        'Bearer token that allows creating and managing tenants. If empty, the operator API is disabled. ' +
        'Never printed.',
      secret: true,
    }),
    tasksJwtIssuer: setting({
      names: ['TASKS_JWT_ISSUER'],
      kind: singleLine,
      default: '',
      help:
        'Issuer (`iss`) of the identity provider whose JSON Web Tokens users can log in with, exactly as ' +
        'in the tokens. If empty, these logins are disabled. See docs/tasks/security.md.',
    }),
    tasksJwtAudience: setting({
      names: ['TASKS_JWT_AUDIENCE'],
      kind: singleLine,
      default: '',
      help: 'Audience (`aud`) that tokens of the identity provider must contain.',
    }),
    tasksJwtJwksUrl: setting({
      names: ['TASKS_JWT_JWKS_URL'],
      kind: jwksUrl,
      default: '',
      help:
        'URL of the public keys (JWKS) of the identity provider. Redirects are not followed. Never ' +
        'printed.',
      secret: true,
    }),
    tasksJwtTenantClaim: setting({
      names: ['TASKS_JWT_TENANT_CLAIM'],
      kind: claimName,
      default: '',
      help:
        'Claim of the tokens of the identity provider that contains the domain of the tenant. If empty, a ' +
        'token is valid for each tenant that has a user with its subject.',
    }),
    tasksJwtRoleClaim: setting({
      names: ['TASKS_JWT_ROLE_CLAIM'],
      kind: claimName,
      default: '',
      help:
        'Claim of the tokens of the identity provider that contains the role of the user, or a list with ' +
        'it: `owner`, `admin`, `member` or `viewer`. Tokens without the claim have the role that is ' +
        'stored with the user.',
    }),
    tasksJwtAutoProvision: flag(
      ['TASKS_JWT_AUTO_PROVISION'],
      'Create users at their first login. Requires `TASKS_JWT_TENANT_CLAIM`.',
    ),
    tasksJwtDefaultRole: setting({
      names: ['TASKS_JWT_DEFAULT_ROLE'],
      kind: oneOf('admin', 'member', 'viewer'),
      default: 'member',
      help: 'Role of users that `TASKS_JWT_AUTO_PROVISION` creates.',
    }),
    secretsMasterKey: setting({
      names: ['SECRETS_MASTER_KEY'],
      kind: masterKey,
      default: '',
      help: 'Master key that encrypts the secrets of workers in the task store. Never printed.',
      secret: true,
    }),
    secretsMasterKeyFile: file(
      ['SECRETS_MASTER_KEY_FILE'],
      'File that contains the master key, instead of `SECRETS_MASTER_KEY`. Only its owner may have ' +
        'access to it.',
    ),
    secretsPreviousMasterKeys: setting({
      names: ['SECRETS_PREVIOUS_MASTER_KEYS'],
      kind: masterKeys,
      default: '',
      help:
        'Previous master keys, comma-separated. Secrets encrypted with them can still be decrypted, so ' +
        'keys can be rotated without downtime. Never printed.',
      secret: true,
    }),
    ...taskStore,
    tasksRestThreads: setting({
      names: ['TASKS_REST_THREADS'],
      kind: integer({ min: 1, max: 16, strict: 'min' }),
      default: 1,
      help:
        'Number of threads that serve the REST API. All requests of a tenant are handled by the same ' +
        'thread.',
    }),
    tasksMetricsMaxWorkers: setting({
      names: ['TASKS_METRICS_MAX_WORKERS'],
      kind: integer({ min: 0, max: 2_000 }),
      default: 200,
      help:
        'Maximum number of workers with statistics of their own, which contain the domain of the tenant and ' +
        'the name of the worker. All others are counted together. `0`: no statistics of single workers.',
    }),
    tasksPushHttp: flag(
      ['TASKS_PUSH_HTTP'],
      'Allow plain HTTP worker URLs. By default only HTTPS is accepted.',
    ),
    tasksPushNetworks: setting({
      names: ['TASKS_PUSH_NETWORKS'],
      kind: networks,
      default: '',
      help:
        'Private networks that tasks may be pushed to, such as `10.1.0.0/16`. By default, loopback, ' +
        'private, link-local and multicast addresses are rejected, whatever host name resolves to them.',
    }),
    tasksPushPorts: setting({
      names: ['TASKS_PUSH_PORTS'],
      kind: ports,
      default: '',
      help: 'Additional ports below 1024 that push workers may use. Ports 80 and 443 are always allowed.',
    }),
    tasksPushCaCert: file(
      ['TASKS_PUSH_CACERT'],
      'PEM file with CA certificates to verify push workers with, in addition to those of the system, ' +
        'of Node.js and of `NODE_EXTRA_CA_CERTS`.',
    ),
    tasksPushThreads: setting({
      names: ['TASKS_PUSH_THREADS'],
      kind: integer({ min: 1, max: 16, strict: 'min' }),
      default: 1,
      help: 'Number of threads that push tasks.',
    }),
    tasksPushConcurrency: setting({
      names: ['TASKS_PUSH_CONCURRENCY'],
      kind: integer({ min: 1, max: 10_000, strict: 'min' }),
      default: 256,
      help:
        'Maximum number of concurrent push deliveries in this process. Deliveries that take longer than ' +
        'half a second do not count; there can be up to eight times as many deliveries in total.',
    }),
    tasksLimitDomains: setting({
      names: ['TASKS_LIMIT_DOMAINS'],
      kind: domains,
      default: '',
      help:
        'Rate limit domains that workers may use in their `limit`. Sluice puts the entry `tenant` with ' +
        'the domain of the tenant in front of their descriptors, so that tenants do not share a limit.',
    }),
    tasksLimitSharedDomains: setting({
      names: ['TASKS_LIMIT_SHARED_DOMAINS'],
      kind: domains,
      default: '',
      help:
        'Rate limit domains that workers may use in their `limit` and that all tenants share: no entry ' +
        '`tenant` is added, so every tenant can use up these limits.',
    }),
    tasksDrainTimeoutMs: setting({
      names: ['TASKS_DRAIN_TIMEOUT'],
      kind: duration({ min: 0, max: 15 * MINUTE_MS }),
      default: 30 * SECOND_MS,
      help:
        'Maximum time that push deliveries in progress have to finish during shutdown. Deliveries that ' +
        'take longer are handed back and do not count as an attempt.',
    }),
  },
} as const;
