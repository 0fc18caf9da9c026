import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { parseAllDocuments } from 'yaml';
import { loadSettings } from '../../../src/settings/load.ts';
import { SETTINGS } from '../../../src/settings/table.ts';
import { repositoryRoot } from '../../support/repository.ts';
import { tempDirectory } from '../../support/temp-directory.ts';
import { missing, outputOf } from '../../support/tools.ts';
import { type Manifest, ordered, rendered } from './kustomize.ts';
import { opsText, yamlOf } from './ops-files.ts';

const FOLDERS = ['kubernetes', 'kubernetes/tasks-redis', 'kubernetes/tasks-volume'] as const;
const PORTS = {
  grpc: SETTINGS.grpcPort.default,
  http: SETTINGS.httpPort.default,
  metrics: SETTINGS.prometheusAddress.default.port,
};
const NOBODY = 65_534;

/** What `kubectl apply -k` of a folder creates, by kind. Each kind occurs at most once. */
function objects(folder: string): Record<string, Manifest> {
  return Object.fromEntries(rendered(folder).map(manifest => [manifest.kind, manifest]));
}

function podOf(folder: string): {
  deployment: Manifest;
  pod: Manifest;
  container: Manifest;
  labels: Manifest;
} {
  const { Deployment: deployment } = objects(folder);
  const { spec: pod, metadata } = deployment.spec.template;
  return { deployment, pod, container: pod.containers[0], labels: metadata.labels };
}

/** Secrets that the commands in the comments create: for each name, the keys and values. */
function documentedSecrets(): Map<string, Map<string, string>> {
  const files = ['base', 'tasks-redis', 'tasks-volume'].map(each => `kubernetes/${each}/kustomization.yaml`);
  const comments = files.map(opsText).join('\n').replace(/\\\n#/g, ' ');
  const secrets = new Map<string, Map<string, string>>();
  for (const [, name, rest] of comments.matchAll(/create secret generic (\S+) (.*)/g)) {
    const keys = secrets.get(name) ?? new Map();
    for (const [, key, value] of rest.matchAll(/--from-literal=([\w-]+)=("[^"]*"|\S+)/g))
      keys.set(key, value);
    secrets.set(name, keys);
  }
  return secrets;
}

/** The variables of a container. Secrets have the values of the documented commands. */
function variablesOf(container: Manifest): Record<string, string> {
  const secrets = documentedSecrets();
  const entries = container.env.map(({ name, value, valueFrom }: Manifest) => {
    const { name: secret, key } = valueFrom?.secretKeyRef ?? {};
    const given = value ?? secrets.get(secret)?.get(key);
    if (given === undefined) throw new Error(`${name}: no command creates the key ${key} of ${secret}`);
    return [name, /openssl/.test(given) ? randomBytes(32).toString('base64') : given];
  });
  return Object.fromEntries(entries);
}

for (const folder of FOLDERS) {
  t.test(`${folder}: everything that selects or names the pods finds them`, async t => {
    const { deployment, pod, container, labels } = podOf(folder);
    const all = objects(folder);
    t.same(deployment.spec.selector.matchLabels, labels);
    t.same(all['Service'].spec.selector, labels);
    t.same(all['PodDisruptionBudget'].spec.selector.matchLabels, labels);
    t.same(all['NetworkPolicy'].spec.podSelector.matchLabels, labels);
    t.same(pod.topologySpreadConstraints[0].labelSelector.matchLabels, labels);
    const { matchExpressions } = yamlOf('kubernetes/pod-monitor.yaml')[0].spec.selector;
    for (const { key, operator, values } of matchExpressions) {
      t.equal(operator, 'In');
      t.ok(values.includes(labels[key]), 'the pod monitor');
    }
    const scaler = all['HorizontalPodAutoscaler'];
    if (scaler === undefined) t.equal(deployment.spec.replicas, 1);
    else {
      t.match(scaler.spec.scaleTargetRef, { kind: 'Deployment', name: deployment.metadata.name });
      t.equal(deployment.spec.replicas, undefined, 'the autoscaler alone sets the number of pods');
      t.ok(scaler.spec.minReplicas > all['PodDisruptionBudget'].spec.maxUnavailable);
      t.ok(container.resources.requests.cpu, 'utilization is a share of this request');
    }
  });

  t.test(
    `${folder}: ports are those of the settings, in the service, the policies and the probes`,
    async t => {
      const { container, deployment } = podOf(folder);
      const ports = container.ports.map((port: Manifest) => [port.name, port.containerPort]);
      t.same(Object.fromEntries(ports), PORTS);
      const { Service: service, NetworkPolicy: policy } = objects(folder);
      const served = service.spec.ports.map((port: Manifest) => port.targetPort);
      for (const { port, targetPort } of service.spec.ports)
        t.equal(port, PORTS[targetPort as keyof typeof PORTS]);
      t.ok(served.includes('metrics'));
      const admitted = policy.spec.ingress.flatMap(({ ports }: Manifest) =>
        ports.map((each: Manifest) => each.port),
      );
      t.same(new Set(admitted), new Set(served), 'what the service offers is let in, and nothing else');
      const [, fromPrometheus] = policy.spec.ingress;
      t.same(fromPrometheus.ports, [{ protocol: 'TCP', port: 'metrics' }]);
      t.ok(fromPrometheus.from[0].namespaceSelector.matchLabels, 'metrics are for one namespace');
      const left = policy.spec.egress.flatMap(({ ports }: Manifest) =>
        ports.map((each: Manifest) => each.port),
      );
      t.ok(left.includes(53) && left.includes(6379), 'DNS and Redis');
      t.same(policy.spec.policyTypes, ['Ingress', 'Egress']);
      for (const { port, path } of yamlOf('kubernetes/pod-monitor.yaml')[0].spec.podMetricsEndpoints) {
        t.equal(port, 'metrics');
        t.equal(path, SETTINGS.prometheusPath.default);
      }
      t.match(deployment.spec.template.metadata.annotations, {
        'prometheus.io/port': String(PORTS.metrics),
        'prometheus.io/path': SETTINGS.prometheusPath.default,
      });
      const { startupProbe, livenessProbe } = container;
      t.ok(PORTS[startupProbe.tcpSocket.port as keyof typeof PORTS]);
      t.same(livenessProbe.httpGet, { path: '/healthz', port: 'http' });
    },
  );

  t.test(
    `${folder}: the variables are accepted settings, and secrets are those that the comments create`,
    async t => {
      const settings = loadSettings(variablesOf(podOf(folder).container));
      t.same(settings.warnings, []);
      t.equal(settings.usePrometheus, true);
      t.equal(settings.useStatsd, false);
      t.equal(settings.debugHost, '127.0.0.1');
    },
  );

  t.test(`${folder}: what is mounted exists, and where Sluice reads it`, async t => {
    const { pod, container } = podOf(folder);
    const volumes = new Map<string, Manifest>(pod.volumes.map((volume: Manifest) => [volume.name, volume]));
    t.equal(container.volumeMounts.length, volumes.size);
    for (const { name } of container.volumeMounts) t.ok(volumes.has(name), name);
    const rules = volumes.get('rules').configMap.name;
    t.ok(
      rendered('kubernetes').some(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === rules),
    );
    const mounted = container.volumeMounts.find((mount: Manifest) => mount.name === 'rules').mountPath;
    t.equal(mounted, `${SETTINGS.runtimeRoot.default}/${SETTINGS.runtimeAppDirectory.default}`);
  });

  t.test(
    `${folder}: a pod that shuts down has time to, and proxies notice it before it closes its ports`,
    async t => {
      const { pod, container } = podOf(folder);
      const settings = loadSettings(variablesOf(container));
      const longest = settings.shutdownDelayMs + settings.shutdownTimeoutMs + settings.tasksDrainTimeoutMs;
      t.ok(pod.terminationGracePeriodSeconds * 1_000 > longest);
      const { periodSeconds, failureThreshold } = container.readinessProbe;
      t.ok(settings.shutdownDelayMs > periodSeconds * failureThreshold * 1_000);
    },
  );

  t.test(`${folder}: a pod has bounds, no rights, and the image of this version`, async t => {
    const { pod, container } = podOf(folder);
    t.match(pod.securityContext, { runAsNonRoot: true, runAsUser: NOBODY, runAsGroup: NOBODY });
    t.match(container.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    t.equal(pod.automountServiceAccountToken, false);
    for (const resource of ['memory', 'ephemeral-storage']) {
      t.ok(container.resources.requests[resource], `request of ${resource}`);
      t.ok(container.resources.limits[resource], `limit of ${resource}`);
    }
    const { version } = JSON.parse(readFileSync(join(repositoryRoot(), 'package.json'), 'utf8'));
    t.equal(container.image, `sluice:${version}`);
  });
}

t.test(
  'decisions are ready by gRPC health, tasks by /readyz, and a failing task store takes no decisions away',
  async t => {
    t.same(podOf('kubernetes').container.readinessProbe.grpc, { port: PORTS.grpc, service: 'ratelimit' });
    for (const folder of FOLDERS.slice(1)) {
      const { container, labels } = podOf(folder);
      t.same(container.readinessProbe.httpGet, { path: '/readyz', port: 'http' });
      t.equal(container.readinessProbe.grpc, undefined, 'a probe has one kind');
      t.notSame(labels, podOf('kubernetes').labels, 'they are other pods');
      const variables = variablesOf(container);
      t.equal(loadSettings(variables).tasksEnabled, true);
      for (const secret of ['SECRETS_MASTER_KEY', 'ACCOUNTS_OPERATOR_TOKEN', 'KVCACHE_URL']) {
        t.ok(
          container.env.find((each: Manifest) => each.name === secret).valueFrom.secretKeyRef,
          `${secret} is a secret`,
        );
      }
    }
  },
);

t.test(
  'tasks on a volume: one pod at a time, on a volume that it may write to, where the image keeps tasks',
  async t => {
    const { deployment, pod, container } = podOf('kubernetes/tasks-volume');
    t.same(deployment.spec.strategy, { type: 'Recreate' });
    t.equal(pod.securityContext.fsGroup, NOBODY);
    const claim = pod.volumes.find((volume: Manifest) => volume.name === 'tasks').persistentVolumeClaim
      .claimName;
    t.equal(objects('kubernetes/tasks-volume')['PersistentVolumeClaim'].metadata.name, claim);
    const mount = container.volumeMounts.find((each: Manifest) => each.name === 'tasks');
    t.equal(mount.mountPath, variablesOf(container)['TASKS_DATA_DIRECTORY']);
    t.match(opsText('docker/Dockerfile'), `TASKS_DATA_DIRECTORY=${mount.mountPath}`);
  },
);

const renderer = ['kustomize', 'kubectl'].find(isInstalled);
const skip = renderer === undefined && 'neither kustomize nor kubectl is on the PATH';
const skipScore = skip || (!isInstalled('kube-score') && 'kube-score is not on the PATH');

for (const folder of FOLDERS) {
  t.test(`${folder}: kustomize renders the same as these tests`, { skip }, async t => {
    const output = await renderedByKustomize(folder);
    const documents = parseAllDocuments(output).map(document => document.toJS());
    t.same(ordered(documents), ordered(rendered(folder)));
  });

  t.test(`${folder}: kube-score finds no fault`, { skip: skipScore }, async t => {
    const file = join(tempDirectory(t), 'rendered.yaml');
    writeFileSync(file, await renderedByKustomize(folder));
    t.equal(await outputOf('kube-score', ['score', '--output-format', 'ci', file]).then(faults), '');
  });
}

function isInstalled(program: string): boolean {
  return missing(program, program) === false;
}

function renderedByKustomize(folder: string): Promise<string> {
  const path = join(repositoryRoot(), 'ops', folder);
  if (renderer === 'kustomize') return outputOf(renderer, ['build', path]);
  return outputOf('kubectl', ['kustomize', path]);
}

function faults(output: string): string {
  return output
    .split('\n')
    .filter(line => /^\[(CRITICAL|WARNING)\]/.test(line))
    .join('\n');
}
