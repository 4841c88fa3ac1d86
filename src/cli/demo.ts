import { Command } from 'commander'
import { type CommandContext, type Report, readOrReport } from './program.ts'
/** Runs the demo until a signal ends it, or once. */
export async function run(
  args: readonly string[],
  { call }: CommandContext,
): Promise<Report | null> {
  const program = new Command(call)
    .description(
      'Runs the service on an embedded database, deploys a sample scorecard, scores applicants ' +
        'and prints curl lines to paste. It makes ninety days of history for the console, and ' +
        'prints how to sign in there. The data are deleted at the end. The environment ' +
        'variables HOST, PORT and LOG_LEVEL configure it.',
    )
    .option('--once', 'ends after the scores are printed, and makes no history')
    .addHelpText('after', '\nExit code: 0 done, or ended by a signal; 1 failed; 2 wrong usage.')
  const read = readOrReport(program, args)
  if ('code' in read) return read
  // The help needs no service.
  const { runDemo } = await import('./demo/run.ts')
  await runDemo({ isOnce: read.get('once') === true })
  return null
}
