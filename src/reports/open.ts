import type { OpenJobs } from '../jobs/open.ts'
import {
  type DamagedBlocks,
  type LogArchive,
  type OpenLogReader,
  type ProofService,
  readMoment,
  type ScoreReadingService,
} from '../log/index.ts'
import type { OutcomeDefinitions } from '../outcomes/definitions.ts'
import type { Deps } from '../platform/deps.ts'
import { errorFacts } from '../platform/error-facts.ts'
import { Periodic } from '../platform/periodic.ts'
import { ApprovalStore } from '../registry/deployments/approval-store.ts'
import { ApprovalService } from '../registry/deployments/approvals.ts'
import type { DeploymentService } from '../registry/deployments/service.ts'
import type { ModelService } from '../registry/models/service.ts'
import { BACKTEST_JOB, BacktestService } from './backtest/service.ts'
import { DifferenceReader } from './change-requests/difference.ts'
import { makeReports } from './make-reports.ts'
import { AlarmEvaluator } from './monitoring/alarms/evaluator.ts'
import { addAlarmMetrics } from './monitoring/alarms/metrics.ts'
import { AlarmService } from './monitoring/alarms/service.ts'
import { AlarmStore } from './monitoring/alarms/store.ts'
import { verdictEvents } from './monitoring/alarms/verdict-events.ts'
import { BaselineService } from './monitoring/baseline-service.ts'
import { Monitored } from './monitoring/monitored.ts'
import { MonitoringStore } from './monitoring/store.ts'
import { OverviewMaker } from './overview/maker.ts'
import type { WriteMonth } from './overview/reports.ts'
import { OverviewService } from './overview/service.ts'
import { OverviewStore } from './overview/store.ts'
import { PerformanceStore } from './performance/store.ts'
import { ExplanationService } from './reasons/explanation.ts'
import { ReasonService } from './reasons/service.ts'
import { ReasonStore } from './reasons/store.ts'
import { NightlyReplay } from './replay/nightly.ts'
import { REPLAY_JOB, ReplayService } from './replay/service.ts'
import { ReplayStore } from './replay/store.ts'
import type { Reports } from './reports.ts'
import { ReportsThread, sharing } from './reports-thread.ts'
import { BlockStats } from './stats/block-stats.ts'
import { StatsService } from './stats/service.ts'
import { StatsStore } from './stats/store.ts'

interface ReportsOptions {
  readonly logReader: OpenLogReader
  /** Absent: the service has no archive. */
  readonly archive?: Pick<LogArchive, 'place' | 'files'>
  readonly damaged: DamagedBlocks
  readonly scoreReading: ScoreReadingService
  readonly proofs: Pick<ProofService, 'checkpoint'>
  readonly models: ModelService
  readonly deployments: DeploymentService
  readonly definitions: OutcomeDefinitions
  readonly jobs: OpenJobs
  readonly breakGlassEmail: string | null
  /** Called with the id of each changed deployment, before the response is sent. */
  readonly onChange: (deploymentId: string) => void
}

/** Time for which a request that has expired may stay open; nobody can approve it meanwhile. */
const EXPIRY_EVERY_MS = 30_000
/** A million applicants with their outcomes take about 600 MiB, the most of all reports. */
const MEMORY_MB = 1_280

/**
 * Wires what is computed from the log, and begins its jobs and its rounds: of alarms, of complete
 * weeks, of nightly replays, and of requests for approval whose time is over.
 */
export function openReports(deps: Deps, options: ReportsOptions) {
  const { db, guarded, clock } = deps
  const { logReader, scoreReading, deployments } = options
  const scans = openScans(deps, options)
  const { monitoring, performance, reasons, comparisons, changes } = scans.reports
  const rounds = openRounds(deps, options, scans.reports)
  const again = openReplays(deps, options)
  const changeControl = openChangeControl(deps, options)
  const reasonStore = guarded(new ReasonStore(db))
  return {
    services: {
      monitoring,
      performance,
      ...rounds.services,
      ...again.services,
      approvals: changeControl.approvals,
      differences: new DifferenceReader({ changes, clock }),
      reasons: new ReasonService({
        store: reasonStore,
        scans: reasons,
        models: logReader.models,
        deployments,
        visible: scoreReading,
        clock,
      }),
      explanations: new ExplanationService({
        scores: scoreReading,
        baseline: (baselineId) => reasonStore.baseline(baselineId),
        cutoff: (deploymentId, modelId) => reasonStore.cutoff(deploymentId, modelId),
      }),
      stats: new StatsService({
        store: guarded(new StatsStore(db)),
        blocks: new BlockStats(logReader.blocks, logReader.cells),
        comparisons,
        clock,
      }),
    },
    nightly: again.nightly,
    /** Ends the rounds, and the thread of reports. */
    close: async () => {
      const { evaluator, overviewMaker } = rounds.services
      const parts = [evaluator.periodic, again.nightly.periodic, changeControl.expiry]
      const scanned = overviewMaker.periodic.close().then(() => scans.close())
      await Promise.all([scanned, ...parts.map((part) => part.close())])
    },
  }
}

/**
 * Opens the reports that scan the log: on a thread of their own, or on this one with the embedded
 * database, which belongs to this process' own thread.
 */
function openScans(deps: Deps, { logReader, archive, damaged }: ReportsOptions): OpenScans {
  const { database, log } = deps
  if (database.url === null) {
    return {
      reports: sharing(makeReports({ ...deps, ...logReader })),
      close: async () => undefined,
    }
  }
  return new ReportsThread({
    databaseUrl: database.url,
    archive: archive?.place ?? null,
    memoryMb: MEMORY_MB,
    onCrash: (error) =>
      log.error({ err: errorFacts(error) }, 'the thread of the reports has ended'),
    onSilent: () => database.renew(),
    onDamaged: (error) => {
      const { archivedIn, reason } = error.damage
      if (archivedIn !== undefined) archive?.files.noteLost(archivedIn, reason)
      damaged.note(error)
    },
  })
}

interface OpenScans {
  readonly reports: Reports
  close(): Promise<void>
}

/** Wires alarms and overviews, which are judged in rounds, and what shows them. */
function openRounds(
  { db, guarded, clock, log, metrics }: Deps,
  { logReader, deployments, proofs }: ReportsOptions,
  { monitoring, overview }: Reports,
) {
  const store = guarded(new MonitoringStore(db))
  const monitored = new Monitored({ store, models: logReader.models })
  const alarmStore = guarded(new AlarmStore(db, verdictEvents))
  const evaluator = new AlarmEvaluator({
    store: alarmStore,
    monitoring,
    clock,
    onFailed: (error) =>
      log.warn({ err: errorFacts(error) }, 'an alarm could not be evaluated and is tried again'),
  })
  addAlarmMetrics(metrics, evaluator)
  evaluator.periodic.start()
  const overviewStore = guarded(new OverviewStore(db))
  const overviewMaker = new OverviewMaker({
    store: overviewStore,
    reports: overview,
    clock,
    onFailed: (error) =>
      log.warn({ err: errorFacts(error) }, 'an overview could not be made and is tried again'),
  })
  overviewMaker.periodic.start()
  const writeMonth: WriteMonth = async (
    caller,
    slug,
    month,
    { definition, as_known_at: asked },
  ) => {
    const nowMs = clock.epochMs()
    const knownMs = Math.min(asked === undefined ? nowMs : readMoment('as_known_at', asked), nowMs)
    const { origin, size, root, note } = await proofs.checkpoint(caller)
    const checkpoint = { origin, size, root: Buffer.from(root).toString('hex'), checkpoint: note }
    return overview.write(caller, slug, month, { definition, knownMs, checkpoint })
  }
  return {
    services: {
      evaluator,
      alarms: new AlarmService({ store: alarmStore, monitored, deployments }),
      baselines: new BaselineService({ monitored, reports: monitoring, clock }),
      overview: new OverviewService({ store: overviewStore, clock }),
      overviewMaker,
      writeMonth,
    },
  }
}

/** Wires what is computed from the log again, and begins its jobs and nights. */
function openReplays(
  { db, guarded, clock, log }: Deps,
  { logReader, scoreReading: reading, models, definitions, jobs }: ReportsOptions,
) {
  const store = guarded(new ReplayStore(db))
  // A card that was changed in the database must not be hidden by one in memory.
  const openSource = logReader.openAnew
  const replays = new ReplayService({ jobs: jobs.service, reading, openSource, sizes: store })
  const backtests = new BacktestService({
    jobs: jobs.service,
    reading,
    models,
    source: logReader,
    outcomes: { definitions, store: guarded(new PerformanceStore(db)) },
    sizes: store,
  })
  const nightly = new NightlyReplay({
    samples: store,
    blocks: logReader.blocks,
    openSource,
    clock,
    log,
  })
  jobs.start({ [REPLAY_JOB]: replays.run, [BACKTEST_JOB]: backtests.run })
  nightly.start()
  return { services: { replays, backtests }, nightly }
}

function openChangeControl(
  { db, guarded, clock, log }: Deps,
  { breakGlassEmail, onChange }: ReportsOptions,
) {
  const store = guarded(new ApprovalStore(db))
  const approvals = new ApprovalService({ store, clock, breakGlassEmail, onChange })
  const expiry = new Periodic({
    round: () => approvals.expireDue(),
    everyMs: EXPIRY_EVERY_MS,
    onFailed: (error) =>
      log.warn({ err: errorFacts(error) }, 'expired change requests could not be closed'),
  }).start()
  return { approvals, expiry }
}
