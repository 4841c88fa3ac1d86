// A single score with everything on, over few connections and many, with one API key and with eight:
// read from the socket, read by Node's server, and answered by Fastify, against Fastify alone:
// `npm run bench -- connections`. What requests share, few of them share less.
import { playScoreContests } from '../lib/score-contest.ts'

await playScoreContests(
  'connections',
  [1, 4, 16, 32, 64].flatMap((connections) =>
    [1, 8].map((keys) => ({
      name: `${connections} connections, ${keys} keys`,
      connections,
      keys,
      contestants: (bench) => [
        bench.bare('/single', bench.singles),
        bench.service('everything on', bench.singles),
        bench.service("read by Node's server", bench.singles, { SCORE_WAY: 'node' }),
        bench.service('answered by Fastify', bench.singles, { SCORE_WAY: 'fastify' }),
      ],
    })),
  ),
  process.argv.slice(2),
)
