// Scoring while pages of the console are open, against none: `npm run bench -- console`. The pages
// ask as a browser does; a browser itself would take processor time from the server on the same
// machine.
import { withPages } from '../lib/console-pages.ts'
import { playScoreContests } from '../lib/score-contest.ts'

await playScoreContests(
  'console',
  [
    {
      name: 'console',
      connections: 64,
      contestants: (bench) => [
        bench.service('no page', bench.singles),
        withPages(bench.service('1 page', bench.singles), bench, 1),
        withPages(bench.service('10 pages', bench.singles), bench, 10),
      ],
    },
  ],
  process.argv.slice(2),
)
