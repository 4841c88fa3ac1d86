import { readFileSync } from 'node:fs'
import { makeApplicants } from './card.ts'
import { type LoadRequest, loadUrl } from './load.ts'
import type { BenchOptions, Target } from './options.ts'

const APPLICANTS = 64

/**
 * Loads a service that runs already and prints what it gave; it has no baseline to be compared
 * with.
 */
export async function runTarget(
  options: BenchOptions,
  target: Target,
  kind: 'single' | 'batch',
): Promise<void> {
  const { contest } = options
  const requests = requestsFor(options, target, kind)
  const how = { ...contest, seconds: contest.warmUpSec }
  await loadUrl(target.url, requests, how)
  const sent = await loadUrl(target.url, requests, { ...how, seconds: contest.sliceSec })
  console.table([
    {
      'requests/s': (sent.requests / sent.seconds).toFixed(0),
      'p50 ms': sent.p50Ms,
      'p99 ms': sent.p99Ms,
      loader: (sent.loaderCpuMs / 1000 / sent.seconds).toFixed(2),
    },
  ])
}

function requestsFor(
  { card, batchRecords }: BenchOptions,
  { slug, keySecret, applicantsFile }: Target,
  kind: 'single' | 'batch',
): LoadRequest[] {
  const applicants: object[] =
    applicantsFile === null
      ? makeApplicants(card, Math.max(APPLICANTS, batchRecords))
      : [JSON.parse(readFileSync(applicantsFile, 'utf8'))].flat()
  const path = `/v1/score/${slug}`
  if (kind === 'single') {
    return applicants.map((applicant) => ({ path, body: JSON.stringify(applicant), keySecret }))
  }
  const records = Array.from({ length: batchRecords }, (_, n) => ({
    id: `application ${n}`,
    ...applicants[n % applicants.length],
  }))
  const body = JSON.stringify({ records, include_contributions: true })
  return [{ path: `${path}/batch`, body, keySecret }]
}
