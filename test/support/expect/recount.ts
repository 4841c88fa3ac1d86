import { expect } from 'vitest'
import { openLogReader } from '../../../src/log/reading/open-reader.ts'
import type { LoggedRequest } from '../../../src/log/record/logged-request.ts'
import { SPANS } from '../../../src/log/rollups/spans.ts'
import type { Database } from '../../../src/platform/db/client.ts'
import { loggedRequests, rollupOver } from '../score-log/log-rows.ts'
import type { TestDatabase } from '../start/databases.ts'
import { withDatabase } from '../start/seeded-database.ts'

const BUCKET_POINTS = 100

type Counts = Record<string, number>

/**
 * The rollups of minutes, hours and days must hold as many results in each bucket of scores as the
 * records of the log, and a scan of its columns as many applicants in each bin of each model.
 */
export async function expectRecounted(
  database: Pick<TestDatabase, 'databaseUrl' | 'dataDir'>,
): Promise<void> {
  await withDatabase(database, async (db) => {
    const requests = await loggedRequests(db)
    const byDeployment = Map.groupBy(requests, ({ deploymentId }) => deploymentId)
    expect(byDeployment.size).toBeGreaterThan(0)
    for (const [deploymentId, own] of byDeployment) {
      const buckets = readBuckets(own)
      for (const span of SPANS) {
        const rollup = await rollupOver(db, span, deploymentId)
        expect(Object.fromEntries(rollup?.scoreBuckets ?? [])).toEqual(buckets)
      }
      expect(await scannedCells(db, own)).toEqual(readCells(own))
    }
  })
}

function readBuckets(requests: readonly LoggedRequest[]): Counts {
  const counts: Counts = {}
  for (const { rows, served } of requests) {
    for (const { results } of rows) {
      const score = results[served]?.score
      if (score === undefined) continue
      const bucket = Math.floor(score / BUCKET_POINTS)
      counts[bucket] = (counts[bucket] ?? 0) + 1
    }
  }
  return counts
}

/** By model, feature and cell. */
function readCells(requests: readonly LoggedRequest[]): Counts {
  const counts: Counts = {}
  for (const { models, rows } of requests) {
    for (const { results } of rows) {
      for (const [position, result] of results.entries()) {
        for (const [feature, cell] of (result?.cells ?? []).entries()) {
          const name = `${models[position]?.modelId} ${feature} ${cell}`
          counts[name] = (counts[name] ?? 0) + 1
        }
      }
    }
  }
  return counts
}

async function scannedCells(db: Database, requests: readonly LoggedRequest[]): Promise<Counts> {
  const [first] = requests
  const counts: Counts = {}
  const { reader } = openLogReader({ db, guarded: (store) => store })
  const query = {
    teamId: first?.teamId ?? '',
    deploymentId: first?.deploymentId ?? '',
    fromMs: Number.NEGATIVE_INFINITY,
    toMs: Number.POSITIVE_INFINITY,
  }
  for await (const portion of reader.columns(query)) {
    for (const { models, wanted } of portion) {
      for (const { modelId, scored, cells } of models) {
        for (const row of wanted) {
          if (scored[row] !== 1) continue
          for (const [feature, column] of cells.entries()) {
            const name = `${modelId} ${feature} ${column[row]}`
            counts[name] = (counts[name] ?? 0) + 1
          }
        }
      }
    }
  }
  return counts
}
