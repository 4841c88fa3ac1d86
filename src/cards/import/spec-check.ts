import type { ScorecardSpec } from '../../engine/index.ts'
import { AppError } from '../../errors.ts'
import type { Job } from '../../jobs/job.ts'
import type { JobStore } from '../../jobs/store.ts'
import {
  type CheckedSample,
  type SampleChecker,
  type SampleCheckInput,
  sha256,
} from '../../registry/models/service.ts'
import { CHECK_JOB } from './checks.ts'
import { parityFailed, requireReached } from './parity-failed.ts'
import { makeCheckInput } from './request.ts'
import { certificateFields } from './responses.ts'
import { sampleWarnings } from './run-import.ts'
import type { FileChecked, ImportThread } from './thread.ts'

/** Checks specifications against a sample, in the same thread as imports. */
export class ImportSampleChecker implements SampleChecker {
  private readonly runner: Pick<ImportThread, 'check'>
  private readonly jobs: Pick<JobStore, 'find'>

  constructor(runner: Pick<ImportThread, 'check'>, jobs: Pick<JobStore, 'find'>) {
    this.runner = runner
    this.jobs = jobs
  }

  async check(
    teamId: string,
    {
      spec,
      check_id: checkId,
      accept_unreached: acceptsUnreached = false,
      ...asked
    }: SampleCheckInput,
    signal?: AbortSignal,
  ) {
    const check = makeCheckInput(asked)
    if (checkId !== undefined) {
      if (check !== null) throw fault('check_id', 'is in place of `sample`: send one of them')
      return readCheck(await this.jobs.find(teamId, checkId), { spec, acceptsUnreached })
    }
    if (check === null) return null
    const checked = await this.runner.check(teamId, { spec, check }, signal)
    if (checked.faults !== null) {
      const message = "the sample can't be read"
      throw new AppError('invalid_spec', message, { details: checked.faults })
    }
    if (!checked.parity.agrees) throw parityFailed(checked.parity)
    if (!acceptsUnreached) requireReached(checked.parity.coverage)
    return {
      certificate: certificateFields(checked.certificate),
      sample: checked.sample,
      warnings: sampleWarnings(checked.parity),
    }
  }
}

/** Returns what a check of a file has proved of a specification. */
function readCheck(
  job: Job | null,
  { spec, acceptsUnreached }: { readonly spec: ScorecardSpec; readonly acceptsUnreached: boolean },
): CheckedSample {
  if (job === null || job.kind !== CHECK_JOB) {
    throw fault('check_id', 'names none of the checks of your team of the last week')
  }
  if (job.status !== 'done') throw fault('check_id', `is a check that is ${job.status}, not done`)
  // Written by `CheckService`.
  const { parity, development_sample: sample } = job.result as FileChecked
  if (parity === null || parity.spec_sha256 !== sha256(JSON.stringify(spec))) {
    throw fault('check_id', 'is a check of another specification: send the one of its result')
  }
  if (!parity.agrees) {
    const text = `the check has found that ${parity.differing} of ${parity.rows} applicants differ`
    throw new AppError('parity_failed', `${text}, so nothing was registered`)
  }
  if (!acceptsUnreached) {
    const unreached = parity.unreached.map(({ more_bins: moreBins, ...one }) => ({
      ...one,
      moreBins,
    }))
    requireReached({ bins: parity.bins, binsUnreached: parity.bins_unreached, unreached })
  }
  return { certificate: parity, sample, warnings: sampleWarnings({ meanPd: parity.mean_pd }) }
}

function fault(path: string, message: string): AppError {
  return new AppError('invalid_request', `${path} ${message}`, { details: [{ path, message }] })
}
