/**
 * Other engines and servers on the same card and the same applicants: `npm run bench -- peers`. The
 * card is the sample of the demo, because one of them made it, and all can hold it without a change
 * of score.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { exportSpec } from '../../src/cards/export/export-spec.ts'
import { sampleApplicants, sampleSpec } from '../../test/support/cards/cards.ts'
import { median } from '../../test/support/load/percentile.ts'
import { openBackends } from '../lib/backends.ts'
import { type Contestant, contest, contestRows } from '../lib/contest.ts'
import { type BenchOptions, readOptions } from '../lib/options.ts'
import { measuredPeers, peerRows, playPeers } from '../lib/peer-rounds.ts'
import { type Entry, enter, peerContestant } from '../lib/peer-server.ts'
import { PEERS, type Peer, type PeerFiles } from '../lib/peers.ts'
import { readSeries } from '../lib/report.ts'
import { type Series, storeResult } from '../lib/results.ts'
import { prepareScoreBench, type ScoreBench } from '../lib/score-bench.ts'

/** As many as in the other scenarios. */
const CONNECTIONS = 64
const BATCH_CONNECTIONS = 4
const SERVICE_OFF = { SCORE_LOG_OFF: '1', QUOTA_OFF: '1' }
/** One for each core: other servers have a thread for each. */
const WORKERS = availableParallelism()
const ALL_CORES = { SCORE_WORKERS: `${WORKERS}` }

/** Raw rounds, table by table. */
const raw: Series[] = []

interface Sample {
  readonly spec: object
  readonly applicants: readonly object[]
  readonly scores: readonly number[]
}

function readSample(): Sample {
  const sample = sampleApplicants()
  return {
    spec: sampleSpec(),
    applicants: sample.map(({ applicant }) => applicant),
    scores: sample.map(({ score }) => score),
  }
}

function writeFiles(directory: string, { spec, applicants }: Sample): PeerFiles {
  const files = {
    spec: join(directory, 'spec.json'),
    pmml: join(directory, 'card.pmml'),
    applicants: join(directory, 'applicants.json'),
  }
  const specText = JSON.stringify(spec)
  writeFileSync(files.spec, specText)
  writeFileSync(files.pmml, exportSpec(specText, { format: 'pmml' }).text)
  writeFileSync(files.applicants, JSON.stringify(applicants))
  return files
}

/** Those that are installed; the others are named, with what they need. */
function installed(): Peer[] {
  return PEERS.filter(({ name, missing }) => {
    const lacks = missing()
    if (lacks !== null) console.log(`skipped: ${name}, which is not installed: ${lacks}`)
    return lacks === null
  })
}

async function playHttp(
  bench: ScoreBench,
  kind: 'single' | 'batch',
  { peers, files, sample }: { peers: readonly Peer[]; files: PeerFiles; sample: Sample },
  { contest: how }: BenchOptions,
): Promise<void> {
  const requests = kind === 'single' ? bench.singles : bench.batches
  const readEntry = (contestant: Contestant, isBare = false): Entry => ({
    contestant,
    scores: isBare ? null : sample.scores,
    startsMs: [],
  })
  const entries = [
    readEntry(bench.service('Scoreline, everything on', requests)),
    readEntry(bench.service('Scoreline, without log and quota', requests, SERVICE_OFF)),
    ...(WORKERS > 1
      ? [
          readEntry(bench.service(`Scoreline, ${WORKERS} workers`, requests, ALL_CORES)),
          readEntry(
            bench.service(`Scoreline, ${WORKERS} workers, without log and quota`, requests, {
              ...SERVICE_OFF,
              ...ALL_CORES,
            }),
          ),
        ]
      : []),
    ...peers
      .filter(({ serves }) => serves)
      .map((peer) => readEntry(peerContestant(peer, files, `/${kind}`, requests), peer.isBare)),
  ]
  const contestants = enter(entries)
  const rounds = await contest(contestants, how)
  const { name, measured } = readSeries(kind, contestants, rounds)
  raw.push({
    name,
    measured: measured.map((one, at) => ({
      ...one,
      rounds: one.rounds.map((round, n) => ({
        ...round,
        startMs: entries[at]?.startsMs[n] ?? Number.NaN,
      })),
    })),
  })
  console.log(`\n${kind}: ${how.connections} connections, ratios to the first`)
  console.table(
    contestRows(contestants, rounds).map((row, at) => ({
      '': row[''],
      'requests/s': row['requests/s'],
      ratio: row['ratio'],
      'CPU µs/request': row['CPU µs/request'],
      'p50 ms': row['p50 ms'],
      'p99 ms': row['p99 ms'],
      MB: row['MB'],
      'degraded %': row['degraded %'],
      loader: row['loader'],
      'start ms': median(entries[at]?.startsMs ?? []).toFixed(0),
    })),
  )
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2), CONNECTIONS)
  const sample = readSample()
  const directory = mkdtempSync(join(tmpdir(), 'scoreline-peers-'))
  const backends = await openBackends()
  try {
    const files = writeFiles(directory, sample)
    const peers = installed()
    const { contest: how } = options
    console.log(`\nNode ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'processor'}`)
    console.log(`the sample card, ${sample.applicants.length} applicants, ${how.rounds} rounds`)
    const inProcess = await playPeers(peers, files, how)
    raw.push({ name: 'in process', measured: measuredPeers(inProcess) })
    console.log('\nin process, ratios to the first')
    console.table(peerRows(inProcess))
    const shape = { ...options, sample, deployments: 1, keys: 1 }
    const bench = await prepareScoreBench(backends, shape)
    const players = { peers, files, sample }
    try {
      await playHttp(bench, 'single', players, options)
      const batch = { ...options, contest: { ...how, connections: BATCH_CONNECTIONS } }
      await playHttp(bench, 'batch', players, batch)
    } finally {
      await bench.remove()
    }
    const payload = { card: 'the sample of the demo', applicants: sample.applicants.length, ...how }
    storeResult('peers', payload, raw, options.jsonFile)
  } finally {
    await backends.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

await main()
