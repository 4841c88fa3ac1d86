import type { Static } from '@sinclair/typebox'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Stability, StabilitySeries } from '../../../../schemas/monitoring.ts'
import type { Performance } from '../../../../schemas/performance.ts'
import { readExplainedSample } from '../../../../src/cli/demo/explained-card.ts'
import type { DemoSpec } from '../../../../src/cli/demo/history/cards.ts'
import { HistoryClock } from '../../../../src/cli/demo/history/clock.ts'
import { COLLEAGUES } from '../../../../src/cli/demo/history/colleagues.ts'
import {
  BATCH_APPLICANTS,
  HISTORY_DAYS,
  historyStartMs,
  type MadeHistory,
  makeHistory,
  NEXT_CARD_DAY,
  PROMOTION_DAY,
} from '../../../../src/cli/demo/history/make-history.ts'
import { loadConfig } from '../../../../src/config.ts'
import type { UserCaller } from '../../../../src/http/access/caller.ts'
import { createLog } from '../../../../src/platform/log.ts'
import type { StabilityQuery } from '../../../../src/reports/monitoring/service.ts'
import { createServices, type Services } from '../../../../src/services.ts'
import { firstBackend, type TestDatabase } from '../../../support/start/databases.ts'

const OWNER = { email: 'owner@demo.example', password: 'a password of a test' }
const DAY_MS = 86_400_000
const MOVED = 'status_of_existing_checking_account'

let database: TestDatabase
let services: Services
let history: MadeHistory
let caller: UserCaller
const clock = new HistoryClock()
const { spec, sample } = readExplainedSample()
const startMs = historyStartMs(clock.epochMs())

beforeAll(async () => {
  database = await firstBackend.create()
  services = await createServices(loadConfig({ DATA_DIR: database.dataDir, LOG_LEVEL: 'silent' }), {
    log: createLog('silent'),
    clock,
    logFromMs: startMs,
    onCrash: (error) => {
      throw error
    },
  })
  history = await makeHistory({ services, clock, owner: OWNER, spec, sample })
  caller = (await services.auth.login({ ...OWNER, clientAddress: '127.0.0.1' })).caller
}, 400_000)
afterAll(async () => {
  await services?.close()
  await database?.drop()
})

const LEVELS = { zero_fill: '0.5', watch: 0.1, act: 0.25 } as const
const read = <Report>(written: Uint8Array): Report => JSON.parse(Buffer.from(written).toString())
const stabilityWith = async (query: StabilityQuery): Promise<Stability> =>
  read(await services.monitoring.writeStability(caller, history.deploymentId, query))
const day = (number: number) => new Date(startMs + number * DAY_MS).toISOString()

test('every applicant of ninety days is in the log, the statistics and the tree', async () => {
  const { deploymentId, applicants } = history
  expect(applicants).toBeGreaterThan(10_000)
  // The file may still be under way.
  const count = async () => {
    const order = { from: undefined, to: undefined, recent: 1 }
    return (await services.stats.get(caller, deploymentId, order)).summary?.resultCount
  }
  await expect.poll(count, { timeout: 60_000 }).toBe(applicants + BATCH_APPLICANTS)
  expect((await services.proofs.checkpoint(caller)).size).toBeGreaterThan(HISTORY_DAYS)
  // The card of the sample has scored since it joined.
  const all = await stabilityWith(LEVELS)
  expect(all.n).toBeGreaterThan(applicants / 2)
  expect(all.n).toBeLessThan(applicants)
  await expect.poll(() => services.spool.stats.records).toBe(0)
})

test('the first look finds a drift that sets in, and the feature that moved', async () => {
  const of = (from: number, to: number) =>
    stabilityWith({ ...LEVELS, from: day(from), to: day(to) })
  const before = await of(PROMOTION_DAY, PROMOTION_DAY + 12)
  expect(before.baseline).toMatchObject({ n: 1_000 })
  expect(before.score.verdict).toBe('stable')
  expect(before.features.filter(({ verdict }) => verdict !== 'stable')).toEqual([])
  const after = await of(HISTORY_DAYS - 5, HISTORY_DAYS + 1)
  const sorted = [...after.features].sort((a, b) => (b.csi_psi ?? 0) - (a.csi_psi ?? 0))
  const [first, second] = sorted
  expect([first?.name, second?.name]).toContain(MOVED)
  expect(first?.verdict).toBe('major_shift')
  expect(['moderate_shift', 'major_shift']).toContain(after.score.verdict)
  const missing = after.features.find(({ missing_share }) => (missing_share ?? 0) > 0.02)
  expect(missing?.name).toBe('savings_account_and_bonds')
})

test('there was a promotion, and a challenger is in shadow mode now', async () => {
  const { deploymentId } = history
  const present = await services.deployments.get(caller.teamId, deploymentId)
  expect(present).toMatchObject({ shadowMode: true, champion: { version: '1.0.0' } })
  expect(present.challengers.map(({ model }) => model.version)).toEqual(['1.1.0'])
  const { changes } = await services.alarms.history(caller, deploymentId, {})
  const promotion = changes.find(({ kind }) => kind === 'promote')
  expect(promotion?.at.slice(0, 10)).toBe(day(PROMOTION_DAY).slice(0, 10))
  const last = changes.findLast(({ kind }) => kind !== 'stability_verdict')
  expect([last?.kind, last?.at.slice(0, 10)]).toEqual([
    'add_challenger',
    day(NEXT_CARD_DAY).slice(0, 10),
  ])
})

test('the alarm was evaluated, and says so in the marks', async () => {
  const alarm = await services.alarms.get(caller, history.deploymentId)
  expect(alarm).toMatchObject({ isOn: true, verdict: 'major_shift' })
  expect(alarm.moved.map(({ name }) => name)).toContain(MOVED)
})

// The link of the console's health opens its own thirty days, by week.
test('the page behind the health names the feature of the alarm, and its newest week', async () => {
  const { deploymentId } = history
  const query = { ...LEVELS, from: day(HISTORY_DAYS - 30) }
  const { features } = await stabilityWith(query)
  const sorted = [...features].sort((a, b) => (b.csi_psi ?? 0) - (a.csi_psi ?? 0))
  expect(sorted.slice(0, 2).map(({ name }) => name)).toContain(MOVED)
  const weeks = { ...query, interval: 'week' } as const
  const written = await services.monitoring.writeSeries(caller, deploymentId, weeks)
  const { points }: StabilitySeries = read(written)
  const judged = points.findLast(({ score }) => score.verdict !== 'insufficient_data')
  const newest = judged?.features.find(({ name }) => name === MOVED)
  expect(newest?.verdict).toBe('major_shift')
})

test('what became of the first accounts is known, for both cards', async () => {
  const [definition] = await services.outcomeDefinitions.list(caller.teamId)
  const query = { definition: definition?.id ?? '' }
  const report = read<Static<typeof Performance>>(
    await services.performance.write(caller, history.deploymentId, query),
  )
  expect(report.n).toBeGreaterThan(1_000)
  expect(report.bad).toBeGreaterThan(20)
  expect(report.auc).toBeGreaterThan(0.6)
  const [challenger] = report.verdicts.challengers
  expect(challenger?.n).toBeGreaterThan(1_000)
  expect(challenger?.bad).toBeGreaterThan(20)
})

test('applicants come until this hour', async () => {
  const order = {
    from: new Date(clock.epochMs() - 3_600_000).toISOString(),
    to: undefined,
    recent: 1,
  }
  const { summary } = await services.stats.get(caller, history.deploymentId, order)
  expect(summary?.resultCount).toBeGreaterThan(10)
})

test('a promotion waits for the approver, whom its requester has not made one', async () => {
  const waiting = { deploymentId: history.deploymentId, state: 'waiting' } as const
  const { items } = await services.approvals.list(caller.teamId, waiting, { limit: 10 })
  expect(items.map(({ order }) => order.action)).toEqual(['promote'])
  const { email } = COLLEAGUES.approver
  const signedIn = { email, password: OWNER.password, clientAddress: '127.0.0.1' }
  const { caller: approver } = await services.auth.login(signedIn)
  const [{ id } = expect.fail('one waits')] = items
  expect((await services.approvals.decline(approver, id, 'not yet')).state).toBe('declined')
})

test('a file was scored, and a candidate answers in staging', async () => {
  const list = async () => {
    const found = await services.batches.list(caller, { limit: 10 })
    return found.items.map(({ status, counts }) => [status, counts.scored])
  }
  await expect.poll(list, { timeout: 60_000 }).toEqual([['done', BATCH_APPLICANTS]])
  const staging = await services.deployments.get(caller.teamId, history.stagingId)
  expect(staging).toMatchObject({ environment: 'staging', champion: { version: '1.1.0' } })
})

test('every answer of the champion has its reasons', async () => {
  const order = { from: day(HISTORY_DAYS - 5), lang: 'en' }
  const { deploymentId } = history
  const counts = await services.reasons.countReasons(caller, deploymentId, order)
  expect(counts.withoutBaseline).toBe(0)
  expect(counts.all.n).toBeGreaterThan(100)
  const texts = counts.all.reasons.map(({ text }) => text)
  expect(texts).toContain('Balance of the checking account')
})

test('a card with other bins has the sample counted by these', async () => {
  const { challengers } = await services.deployments.get(caller.teamId, history.deploymentId)
  const [next] = await Promise.all(
    challengers.map(({ model }) => services.models.get(caller.teamId, model.id)),
  )
  const { features } = JSON.parse(next?.specText ?? '{}') as DemoSpec
  const bins = features.find(({ name }) => name === 'credit_amount')?.bins ?? []
  const counted = bins.find(({ range }) => range === '[4000, 8000)')?.baseline_count
  const amounts = sample.map(({ applicant }) => Number(applicant['credit_amount']))
  expect(counted).toBe(amounts.filter((amount) => amount >= 4000 && amount < 8000).length)
})

test('the clock follows the system again', () => {
  expect(Math.abs(clock.epochMs() - Date.now())).toBeLessThan(1_000)
})
