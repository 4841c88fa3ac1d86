import { hash } from 'node:crypto'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Files that take longest, the longest of each project first. One that began last would run alone,
 * with a core idle beside it. A file that is missing here costs time, nothing else.
 */
export const LONGEST: readonly string[] = [
  'test/faults/http/openapi/schemathesis.test.ts',
  'test/faults/platform/workers.test.ts',
  'test/faults/jobs/batches/killed.test.ts',
  'test/faults/server.test.ts',
  'test/faults/log/archive/killed.test.ts',
  'test/faults/log/answered-and-logged.test.ts',
  'test/faults/jobs/batches/batches.test.ts',
  'test/faults/rate-limit/sliding.test.ts',
  'test/faults/registry/deployments/one-person.test.ts',
  'test/faults/log/failover.test.ts',
  'test/faults/log/upgrade.test.ts',
  'test/faults/outcomes/import-kills.test.ts',
  'test/faults/jobs.test.ts',
  'test/faults/log/several-hosts.test.ts',
  'test/faults/idempotency.test.ts',
  'test/faults/platform/embedded-kills.test.ts',
  'test/faults/jobs/batches/bucket.test.ts',
  'test/faults/log/network.test.ts',
  'test/faults/log/merging.test.ts',
  'test/faults/shutdown.test.ts',
  'test/faults/identity/auth/refresh.test.ts',
  'test/faults/identity/keys/rotate.test.ts',
  'test/http/cli/log-verify.test.ts',
  'test/http/outcomes.test.ts',
  'test/http/identity/auth/break-glass.test.ts',
  'test/http/identity/auth/access.test.ts',
  'test/integration/console/looks.test.ts',
  'test/integration/console/paths.test.ts',
  'test/integration/platform/database.test.ts',
  'test/integration/clients/package.test.ts',
  'test/integration/console/sign-out.test.ts',
  'test/integration/platform/tracing/spans.test.ts',
  'test/integration/console/reasons.test.ts',
  'test/integration/console/changes.test.ts',
  'test/integration/platform/tracing/trace-ids.test.ts',
  'test/unit/log/drain/drain.test.ts',
  'test/unit/engine/properties.test.ts',
  'test/unit/cards/export/sql-in-process.test.ts',
]

/** Starts the longest files first, and the others in an order that follows from the run's seed. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root, sequence } = this.ctx.config
    const places = files.map((file) => {
      const path = file.moduleId.slice(root.length + 1)
      const rank = LONGEST.indexOf(path)
      return {
        file,
        rank: rank === -1 ? LONGEST.length : rank,
        chance: hash('sha1', `${sequence.seed} ${path}`),
      }
    })
    places.sort((a, b) => a.rank - b.rank || (a.chance < b.chance ? -1 : 1))
    return places.map(({ file }) => file)
  }
}
