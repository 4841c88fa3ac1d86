import { spawnSync } from 'node:child_process'
import { openBackends } from './lib/backends.ts'
import { OTHER_CORE, pinTo, SERVER_CORE } from './lib/cores.ts'
import './lib/say-usage-errors.ts'
import {
  COMPARED,
  SCENARIO_NAMES,
  SCENARIOS,
  type Scenario,
  SHORT,
  scenarioFile,
  writeHelp,
  writeScenarioHelp,
} from './lib/scenarios.ts'

const SAY_USAGE_ERRORS = new URL('./lib/say-usage-errors.ts', import.meta.url).href

/**
 * Runs each in a process of its own, so that none finds code that V8 compiled for another's data.
 */
async function run(scenarios: readonly Scenario[], args: readonly string[]): Promise<void> {
  const isPinned = scenarios.includes('pinned')
  // What this process starts runs where it runs.
  if (isPinned) pinTo(OTHER_CORE, process.pid)
  const backends = await openBackends()
  const env = {
    ...process.env,
    BENCH_DATABASE_URL: backends.databaseUrl,
    BENCH_REDIS_URL: backends.redisUrl,
    TEST_DATABASE_URL: backends.databaseUrl,
    TEST_REDIS_URL: backends.redisUrl,
    ...(isPinned && { BENCH_SERVER_CORE: `${SERVER_CORE}` }),
  }
  try {
    for (const name of scenarios) {
      console.log(`\n== ${name}: ${SCENARIOS[name]}`)
      const code = start(name, args, env)
      if (code === 0) continue
      console.error(`${name} ended with ${code}`)
      process.exitCode = 1
    }
  } finally {
    await backends.close()
  }
}

/** @returns the exit code, or the name of the signal that ended it */
function start(
  name: Scenario,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): number | NodeJS.Signals {
  const command = ['--import', SAY_USAGE_ERRORS, scenarioFile(name), ...args]
  const { status, signal } = spawnSync(process.execPath, command, { stdio: 'inherit', env })
  return status ?? signal ?? 1
}

const [first = '', ...rest] = process.argv.slice(2)
const named = SCENARIO_NAMES.find((name) => name === first)
if (first === '--help') console.log(writeHelp())
else if (named !== undefined && rest.includes('--help')) console.log(writeScenarioHelp(named))
else if (first === 'tables') await import('./tables.ts')
else if (named === 'load') process.exitCode = Number(start(named, rest, process.env))
else if (named !== undefined) await run([named], rest)
else if (first === '' || first.startsWith('--'))
  await run(Object.keys(COMPARED) as Scenario[], [...SHORT, ...process.argv.slice(2)])
else {
  console.error(`no scenario is called ${first}\n\n${writeHelp()}`)
  process.exitCode = 2
}
