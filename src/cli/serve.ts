import type { CommandContext, Report } from './program.ts'

/** Runs the service until a signal ends it. */
export async function run(
  args: readonly string[],
  { call }: CommandContext,
): Promise<Report | null> {
  const report = args.length > 0 ? await makeReport(args, call) : null
  if (report !== null) return report
  const { serve } = await import('../server.ts')
  await serve()
  return null
}

/** Loads the parser only when there is something to parse: a start without arguments is faster. */
async function makeReport(args: readonly string[], call: string): Promise<Report | null> {
  const { Command } = await import('commander')
  const { readOrReport } = await import('./program.ts')
  const program = new Command(call)
    .description(
      'Runs the service until SIGTERM or SIGINT ends it. Environment variables configure it: ' +
        'docs/configuration.md lists them. Without any, it listens on http://127.0.0.1:3000 and ' +
        'keeps its data in an embedded database under ./data. It prints where the console is.',
    )
    .addHelpText('after', '\nExit code: 0 ended by a signal; 1 failed; 2 wrong usage.')
  const read = readOrReport(program, args)
  return 'code' in read ? read : null
}
