// A score with an Idempotency-Key, as both clients send it, against one without, over many
// connections and over few: `npm run bench -- idempotency`.
import { playScoreContests } from '../lib/score-contest.ts'

await playScoreContests(
  'idempotency',
  [
    { name: '64 connections', connections: 64 },
    { name: '16 connections', connections: 16 },
    { name: '4 connections', connections: 4 },
    { name: 'embedded, 64 connections', connections: 64, isEmbedded: true },
  ].map((one) => ({
    ...one,
    keys: 8,
    contestants: (bench) => [
      bench.service('without a key', bench.singles),
      bench.service(
        'with a key',
        bench.singles.map((one) => ({ ...one, isKeyed: true })),
      ),
    ],
  })),
  process.argv.slice(2),
)
