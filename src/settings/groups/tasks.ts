import { BlockList, isIP } from 'node:net';
import { MINUTE_MS, SECOND_MS } from '../kinds/durations.ts';
import { anyText, bool, checkedText, choice, duration, integer, path } from '../kinds/kinds.ts';
import { setting } from '../kinds/setting.ts';

/** A host name in lower case, of labels that certificates and cookies accept. */
const serviceHost = checkedText({
  label: 'host name',
  accepts: 'a host name in lower case, without a port, such as tasks.example.com',
  holds: text =>
    /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/.test(text),
});

const networks = checkedText({
  label: 'list of networks',
  accepts: 'networks in CIDR form with commas in between, such as 10.0.0.0/8,fd00::/8, or empty for none',
  holds: text => text === '' || text.split(',').every(isNetwork),
});

const ports = checkedText({
  label: 'list of ports',
  accepts: 'port numbers with commas in between, or empty for none',
  holds: text =>
    text === '' || text.split(',').every(port => /^[1-9]\d{0,4}$/.test(port) && Number(port) < 65_536),
});

const domains = checkedText({
  label: 'list of domains',
  accepts: 'domains of rules with commas in between and without spaces, or empty for none',
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

/** Anybody who can change the keys in transit can log in as any user. */
function isKeyUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.username !== '' || url.password !== '' || text.length > 2_048) return false;
  const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  return url.protocol === 'https:' || (url.protocol === 'http:' && isHere);
}

const masterKey = checkedText({
  label: '32 bytes, base64 or hex',
  accepts: '32 bytes in base64 or hex ("openssl rand -base64 32" makes them), or empty for none',
  holds: text => text === '' || isMasterKey(text),
});

const masterKeys = checkedText({
  label: 'list of keys',
  accepts: 'keys of 32 bytes in base64 or hex, with commas in between, or empty for none',
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

/** The task service: where tasks are kept, who may come, and how they are pushed. */
export const tasks = {
  title: 'Tasks',
  settings: {
    tasksEnabled: setting({
      names: ['TASKS_ENABLED'],
      kind: bool,
      default: false,
      help: 'Serve tasks as well, on the HTTP port. Off, nothing of it is loaded. `npm start` turns it on.',
    }),
    serviceHost: setting({
      names: ['SERVICE_HOST'],
      kind: serviceHost,
      default: 'localhost',
      help:
        'A tenant is reached at `{domain}.` and this name, or with a token at any host that names no tenant; accounts ' +
        'are made at `accounts.` and this name. URLs in ' +
        'answers begin with `https://`; with `localhost` they begin with `http://` and have the port.',
    }),
    tasksTenantHeader: setting({
      names: ['TASKS_TENANT_HEADER'],
      kind: bool,
      default: false,
      help:
        'Let the header `X-Tenant-Domain` name the tenant, in place of the host. Only behind a proxy that takes the ' +
        'header from strangers away.',
    }),
    accountsSignup: setting({
      names: ['ACCOUNTS_SIGNUP'],
      kind: choice({
        texts: { operator: 'operator', loopback: 'loopback', open: 'open' },
        letterCase: 'exact',
      }),
      default: 'operator',
      help:
        'Who may create accounts. `operator`: callers with `ACCOUNTS_OPERATOR_TOKEN`. `loopback`: also callers on this ' +
        'machine, unless a proxy has forwarded the request. `open`: everybody.',
    }),
    accountsOperatorToken: setting({
      names: ['ACCOUNTS_OPERATOR_TOKEN'],
      kind: operatorToken,
      default: '',
      help: 'Bearer token of the operator, for making accounts. Empty: there is no operator. Never printed.',
      secret: true,
    }),
    tasksJwtIssuer: setting({
      names: ['TASKS_JWT_ISSUER'],
      kind: singleLine,
      default: '',
      help:
        'Issuer (`iss`) of the identity provider whose JSON Web Tokens log users in, exactly as in the tokens. Empty ' +
        'disables these logins. See docs/tasks/security.md.',
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
      help: 'URL of the public keys (JWKS) of the identity provider. Redirects are not followed. Never printed.',
      secret: true,
    }),
    tasksJwtTenantClaim: setting({
      names: ['TASKS_JWT_TENANT_CLAIM'],
      kind: claimName,
      default: '',
      help:
        'Claim with the domain of the tenant that a token is for. Empty: a token is valid for each tenant that has a ' +
        'user with its subject.',
    }),
    tasksJwtRoleClaim: setting({
      names: ['TASKS_JWT_ROLE_CLAIM'],
      kind: claimName,
      default: '',
      help:
        'Claim with the role of the user, or a list with it: `owner`, `admin`, `member` or `viewer`. Tokens without ' +
        'the claim have the role that is stored with the user.',
    }),
    tasksJwtAutoProvision: setting({
      names: ['TASKS_JWT_AUTO_PROVISION'],
      kind: bool,
      default: false,
      help: 'Create users at their first login. Requires `TASKS_JWT_TENANT_CLAIM`.',
    }),
    tasksJwtDefaultRole: setting({
      names: ['TASKS_JWT_DEFAULT_ROLE'],
      kind: choice({ texts: { admin: 'admin', member: 'member', viewer: 'viewer' }, letterCase: 'exact' }),
      default: 'member',
      help: 'Role of users that `TASKS_JWT_AUTO_PROVISION` creates.',
    }),
    secretsMasterKey: setting({
      names: ['SECRETS_MASTER_KEY'],
      kind: masterKey,
      default: '',
      help: 'Key that the secrets of workers are sealed with. Never printed.',
      secret: true,
    }),
    secretsMasterKeyFile: setting({
      names: ['SECRETS_MASTER_KEY_FILE'],
      kind: path,
      default: '',
      help: 'File that holds the key, in place of `SECRETS_MASTER_KEY`; readable by its owner only.',
    }),
    secretsPreviousMasterKeys: setting({
      names: ['SECRETS_PREVIOUS_MASTER_KEYS'],
      kind: masterKeys,
      default: '',
      help: 'Keys that were in use before: what is sealed with one of them still opens. Never printed.',
      secret: true,
    }),
    tasksStore: setting({
      names: ['TASKS_STORE'],
      kind: choice({ texts: { sqlite: 'sqlite', redis: 'redis' }, letterCase: 'exact' }),
      default: 'sqlite',
      help: 'Where tasks are kept: a file of this machine, or Redis, which several machines can share.',
    }),
    tasksDataDirectory: setting({
      names: ['TASKS_DATA_DIRECTORY'],
      kind: path,
      default: 'data',
      help: 'Directory of the file with the tasks, on a local disk. It is made where there is none.',
    }),
    tasksSqliteSynchronous: setting({
      names: ['TASKS_SQLITE_SYNCHRONOUS'],
      kind: choice({ texts: { full: 'full', normal: 'normal' }, letterCase: 'exact' }),
      default: 'full',
      help:
        '`full`: what was accepted survives a power cut. `normal` is faster and may lose the last moments in one; ' +
        'the crash of a process loses nothing either way.',
    }),
    tasksRedisUrl: setting({
      names: ['TASKS_REDIS_URL'],
      kind: anyText,
      default: '',
      help: 'Address of the Redis with the tasks; needed for `TASKS_STORE=redis`. Version 7.0 or later. Never printed.',
      secret: true,
    }),
    tasksRedisAuthFile: setting({
      names: ['TASKS_REDIS_AUTH_FILE'],
      kind: path,
      default: '',
      help:
        'File that holds `password` or `user:password` for that Redis, in place of the one in the address. It is read ' +
        'again when a connection is lost, so a password can be replaced without a restart.',
    }),
    tasksRedisType: setting({
      names: ['TASKS_REDIS_TYPE'],
      kind: choice({ texts: { single: 'single', cluster: 'cluster' }, letterCase: 'exact' }),
      default: 'single',
      help: 'One server, or a cluster. All keys of a tenant are on one node of it.',
    }),
    tasksRedisTls: setting({
      names: ['TASKS_REDIS_TLS'],
      kind: bool,
      default: false,
      help: 'Connect to the Redis with the tasks over TLS (1.2 or 1.3).',
    }),
    tasksRedisTlsCaCert: setting({
      names: ['TASKS_REDIS_TLS_CACERT'],
      kind: path,
      default: '',
      help: 'CA certificates (PEM) to trust for that, in addition to those of the system, of Node.js and of `NODE_EXTRA_CA_CERTS`.',
    }),
    tasksRedisTimeoutMs: setting({
      names: ['TASKS_REDIS_TIMEOUT'],
      kind: duration({ min: 100, max: MINUTE_MS, strict: 'min' }),
      default: 5 * SECOND_MS,
      help: 'Longest time for a connection to that Redis, and for the answer to a command.',
    }),
    tasksRedisDurability: setting({
      names: ['TASKS_REDIS_DURABILITY'],
      kind: choice({ texts: { everysec: 'everysec', always: 'always' }, letterCase: 'exact' }),
      default: 'everysec',
      help:
        'What `appendfsync` of that Redis has to be. It is compared at start: `everysec` may lose the last two seconds in ' +
        'a power cut.',
    }),
    tasksRedisKeyPrefix: setting({
      names: ['TASKS_REDIS_KEY_PREFIX'],
      kind: checkedText({
        label: 'text',
        accepts: 'up to 64 letters, digits and .:_-',
        holds: text => /^[A-Za-z0-9.:_-]{0,64}$/.test(text),
      }),
      default: 'sluice:',
      help: 'Put in front of every key of the tasks.',
    }),
    tasksRestThreads: setting({
      names: ['TASKS_REST_THREADS'],
      kind: integer({ min: 1, max: 16, strict: 'min' }),
      default: 1,
      help: 'Threads that answer calls of the REST interface. All calls of a tenant go to one of them.',
    }),
    tasksPushHttp: setting({
      names: ['TASKS_PUSH_HTTP'],
      kind: bool,
      default: false,
      help: 'Let URLs of workers begin with `http://`. Otherwise only `https://` is accepted.',
    }),
    tasksPushNetworks: setting({
      names: ['TASKS_PUSH_NETWORKS'],
      kind: networks,
      default: '',
      help:
        'Networks that tasks may be pushed to although they are private: `10.1.0.0/16`. Without it, loopback, private, ' +
        'link-local and multicast addresses are refused, whatever name leads there.',
    }),
    tasksPushPorts: setting({
      names: ['TASKS_PUSH_PORTS'],
      kind: ports,
      default: '',
      help: 'Ports below 1024 that tasks may be pushed to, beside 80 and 443.',
    }),
    tasksPushCaCert: setting({
      names: ['TASKS_PUSH_CACERT'],
      kind: path,
      default: '',
      help: 'CA certificates (PEM) that the certificates of workers may be signed by, in addition to those of the system, of Node.js and of `NODE_EXTRA_CA_CERTS`.',
    }),
    tasksPushThreads: setting({
      names: ['TASKS_PUSH_THREADS'],
      kind: integer({ min: 1, max: 16, strict: 'min' }),
      default: 1,
      help: 'Threads that push tasks.',
    }),
    tasksPushConcurrency: setting({
      names: ['TASKS_PUSH_CONCURRENCY'],
      kind: integer({ min: 1, max: 10_000, strict: 'min' }),
      default: 256,
      help:
        'Maximum number of push deliveries that this process makes at the same time. Deliveries that take longer than ' +
        'half a second do not count; there can be up to eight times as many deliveries in total.',
    }),
    tasksLimitDomains: setting({
      names: ['TASKS_LIMIT_DOMAINS'],
      kind: domains,
      default: '',
      help:
        'Domains of rate limit rules that workers may name as their `limit`. The entry `tenant` with the domain of the ' +
        'tenant is put in front of their descriptors, so that no tenant uses up the limit of another.',
    }),
    tasksLimitSharedDomains: setting({
      names: ['TASKS_LIMIT_SHARED_DOMAINS'],
      kind: domains,
      default: '',
      help:
        'Domains like those of `TASKS_LIMIT_DOMAINS`, without the entry `tenant`. Every tenant can use up the limits of ' +
        'these domains.',
    }),
    tasksDrainTimeoutMs: setting({
      names: ['TASKS_DRAIN_TIMEOUT'],
      kind: duration({ min: 0, max: 15 * MINUTE_MS }),
      default: 30 * SECOND_MS,
      help:
        'Longest time that pushes under way get to finish when the process is told to stop. What is not done by then ' +
        'is handed back, and does not count as an attempt.',
    }),
  },
} as const;
