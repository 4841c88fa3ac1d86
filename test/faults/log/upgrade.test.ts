import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { expect, inject, onTestFinished, test } from 'vitest'
import { figuresOf, printFigures, resultsInRollups } from '../../support/expect/reconciliation.ts'
import { databaseUrl, onServer } from '../../support/global-setup.ts'
import { LoadedService } from '../../support/load/loaded-service.ts'
import {
  leaveOldSpool,
  storeAsRows,
  withFirstForm,
} from '../../support/score-log/first-form-database.ts'
import { loggedFacts } from '../../support/score-log/log-rows.ts'
import { loggedRecord } from '../../support/score-log/records.ts'
import { type Backend, backends, newDataDir } from '../../support/start/databases.ts'
import { withDatabase } from '../../support/start/seeded-database.ts'

/** Moments after the start: amid migrations, amid the first batches, and later. */
const KILLS_MS = [500, 900, 1_200, 1_500, 1_900, 2_400]
const SPOOLS = 4
const RECORDS = 1_500
/** Stored already when the process of the version before was killed. */
const STORED = 200

// A machine may be restarted while it upgrades: nothing may depend on one start that succeeds.
test.each(backends)(
  'on $name an upgrade that is killed again and again logs each request once',
  async (backend) => {
    const database = { databaseUrl: await emptyDatabase(backend), dataDir: newDataDir() }
    const spools = Array.from({ length: SPOOLS }, () =>
      Array.from({ length: RECORDS }, (_, n) =>
        loggedRecord({ deploymentId: `dep_${n % 3}`, scores: [[500 + (n % 200)]] }),
      ),
    )
    await withFirstForm(database, async (db) => {
      for (const records of spools) await storeAsRows(db, records.slice(0, STORED))
    })
    for (const [number, records] of spools.entries()) {
      leaveOldSpool(database.dataDir, `00000000000000${number}-1`, records)
    }
    const service = new LoadedService(database)
    onTestFinished(async () => void (await service.process?.stop('SIGKILL')))
    for (const killMs of KILLS_MS) {
      const started = service.startProcess().catch(() => undefined)
      await setTimeout(killMs)
      await service.process?.stop('SIGKILL')
      await started
    }
    await service.start()
    // Requests of this version beside those of the version before.
    await service.startLoad()
    await service.load.heard(60)
    await service.endAndDrain()

    const answered = new Map(service.load.answered)
    for (const { record, served } of spools.flat()) {
      answered.set(record.requestId, served.scores.length)
    }
    await withDatabase(database, async (db) => {
      const facts = await loggedFacts(db)
      const figures = figuresOf(answered, facts)
      printFigures(figures)
      expect(figures).toMatchObject({ lost: 0, twice: 0, logged: answered.size })
      expect(await resultsInRollups(db)).toBe(figures.loggedResults)
    })
  },
  180_000,
)

/** @returns null for the embedded one, which the first start makes */
async function emptyDatabase({ name }: Backend): Promise<string | null> {
  const { serverUrl } = inject('postgresTemplate') ?? {}
  if (name !== 'PostgreSQL' || serverUrl === undefined) return null
  const database = `scoreline_test_${randomBytes(6).toString('hex')}`
  await onServer(serverUrl, `create database ${database}`)
  onTestFinished(() => onServer(serverUrl, `drop database ${database} with (force)`))
  return databaseUrl(serverUrl, database)
}
