// A single score and a batch with everything on, against Fastify alone, where the measured server
// has one core and the load, PostgreSQL and Redis share another: `npm run bench -- pinned`. Without
// that the drain's thread and the garbage collector run on the second core and cost nothing here.
import { playScoreContests } from '../lib/score-contest.ts'

await playScoreContests(
  'pinned',
  [
    {
      name: 'single',
      connections: 64,
      contestants: (bench) => [
        bench.bare('/single', bench.singles),
        bench.service('everything on', bench.singles),
      ],
    },
    {
      name: 'batch',
      connections: 4,
      contestants: (bench) => [
        bench.bare('/batch/stringify', bench.batches),
        bench.service('everything on', bench.batches),
      ],
    },
  ],
  process.argv.slice(2),
)
