// A single score with everything on, against Fastify alone, over few connections and many, with one
// API key and with eight: `npm run bench -- connections`. What requests share, few of them share
// less.
import { playScoreContests } from '../lib/score-contest.ts'

await playScoreContests(
  'connections',
  [1, 4, 16, 32].flatMap((connections) =>
    [1, 8].map((keys) => ({
      name: `${connections} connections, ${keys} keys`,
      connections,
      keys,
      contestants: (bench) => [
        bench.bare('/single', bench.singles),
        bench.service('everything on', bench.singles),
      ],
    })),
  ),
  process.argv.slice(2),
)
