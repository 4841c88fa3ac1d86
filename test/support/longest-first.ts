import { hash } from 'node:crypto'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Files that take longest, the longest of each project first. One that began last would run alone,
 * with a core idle beside it. A file that is missing here costs time, nothing else.
 */
export const LONGEST: readonly string[] = [
  'test/faults/platform/workers.test.ts',
  'test/faults/batches/killed.test.ts',
  'test/faults/server.test.ts',
  'test/faults/archive/killed.test.ts',
  'test/faults/score-log/answered-and-logged.test.ts',
  'test/faults/batches/batches.test.ts',
  'test/faults/rate-limit/sliding.test.ts',
  'test/faults/score-log/failover.test.ts',
  'test/faults/score-log/upgrade.test.ts',
  'test/faults/outcomes/import-kills.test.ts',
  'test/faults/jobs.test.ts',
  'test/faults/score-log/several-hosts.test.ts',
  'test/faults/idempotency.test.ts',
  'test/faults/platform/embedded-kills.test.ts',
  'test/faults/batches/bucket.test.ts',
  'test/faults/score-log/network.test.ts',
  'test/faults/score-log/merging.test.ts',
  'test/faults/shutdown.test.ts',
  'test/faults/auth/refresh.test.ts',
  'test/faults/keys/rotate.test.ts',
  'test/http/cli/log-verify.test.ts',
  'test/http/outcomes.test.ts',
  'test/http/auth/break-glass.test.ts',
  'test/http/auth/access.test.ts',
  'test/integration/console/looks.test.ts',
  'test/integration/console/paths.test.ts',
  'test/integration/platform/database.test.ts',
  'test/integration/clients/package.test.ts',
  'test/integration/console/sign-out.test.ts',
  'test/integration/platform/tracing/spans.test.ts',
  'test/integration/console/reasons.test.ts',
  'test/integration/console/changes.test.ts',
  'test/integration/platform/tracing/trace-ids.test.ts',
  'test/unit/score-log/drain/drain.test.ts',
  'test/unit/engine/properties.test.ts',
  'test/unit/export/sql-in-process.test.ts',
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
