import type { CommandContext, Report } from './program.ts'

/** A command of the program. Its module is loaded only when it is called. */
interface ProgramCommand {
  readonly name: string
  /** Script of package.json that calls it. */
  readonly script: string
  readonly summary: string
  load(): Promise<{
    /** @returns what to print; null when the command prints by itself or keeps running */
    run(args: readonly string[], context: CommandContext): Promise<Report | null>
  }>
}

const COMMANDS: readonly ProgramCommand[] = [
  {
    name: 'serve',
    script: 'npm start --',
    summary: 'runs the service',
    load: () => import('./serve.ts'),
  },
  {
    name: 'demo',
    script: 'npm run demo --',
    summary: 'runs the service with a sample scorecard, and scores applicants',
    load: () => import('./demo.ts'),
  },
  {
    name: 'migrate',
    script: 'npm run migrate --',
    summary: 'makes the tables of this version in PostgreSQL',
    load: () => import('./migrate.ts'),
  },
  {
    name: 'import',
    script: 'npm run import --',
    summary: 'converts a scorecard of another tool into a specification',
    load: () => import('./import.ts'),
  },
  {
    name: 'export',
    script: 'npm run export --',
    summary: 'writes a scorecard as a specification, PMML or SQL',
    load: () => import('./export.ts'),
  },
  {
    name: 'log',
    script: 'npm run log --',
    summary: 'exports the score log, and erases references',
    load: () => import('./log.ts'),
  },
  {
    name: 'spool',
    script: 'npm run spool --',
    summary: 'shows records that were set aside, and puts them back',
    load: () => import('./spool.ts'),
  },
  {
    name: 'batch',
    script: 'npm run batch --',
    summary: 'scores files of applicants',
    load: () => import('./batch.ts'),
  },
  {
    name: 'types',
    script: 'npm run types --',
    summary: 'writes the type of the applicants of a deployment in TypeScript',
    load: () => import('./types.ts'),
  },
  {
    name: 'admin',
    script: 'npm run admin --',
    summary: 'manages teams, users and API keys',
    load: () => import('./admin.ts'),
  },
]

const PROGRAM = 'scoreline'

async function main(): Promise<void> {
  const { env } = process
  const [name = '', ...args] = process.argv.slice(2)
  if (name === '--version' || name === '-V') {
    const { VERSION } = await import('../platform/version.ts')
    print({ code: 0, stdout: `${VERSION}\n`, stderr: '' })
    return
  }
  const command = COMMANDS.find((one) => one.name === name)
  if (command === undefined) {
    const { programReport } = await import('./program.ts')
    print(programReport(PROGRAM, COMMANDS, process.argv.slice(2)))
    return
  }
  const { run } = await command.load()
  const report = await run(args, {
    env,
    call: formatCall(command, env['npm_lifecycle_event']),
    onCrash: (error) => {
      process.stderr.write(`The embedded database died: ${error.message}\n`)
      process.exit(1)
    },
  })
  if (report !== null) print(report)
}

/**
 * Tells how the caller called the command, for its help.
 *
 * @param npmScript name of the npm script that runs
 */
function formatCall({ name, script }: ProgramCommand, npmScript: string | undefined): string {
  const isCalledByNpm = npmScript !== undefined && script.split(' ').includes(npmScript)
  return isCalledByNpm ? script : `${PROGRAM} ${name}`
}

function print({ code, stdout, stderr }: Report): void {
  // The reader of a pipe may close it before the end.
  process.stdout.on('error', () => {})
  process.stdout.write(stdout)
  process.stderr.write(stderr)
  process.exitCode = code
}

await main()
