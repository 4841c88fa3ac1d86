// A score with an Idempotency-Key, as both clients send it, against one without, over many
// connections and over few: `npm run bench -- idempotency`.
import { playScoreContests } from '../lib/score-contest.ts'

await playScoreContests(
  'idempotency',
  [64, 16, 4].map((connections) => ({
    name: `${connections} connections`,
    connections,
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
