import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { QUICK_START } from '../src/platform/quick-start-argv.ts'
import { LeftOut } from './support/left-out.ts'
import { LongestFirst } from './support/longest-first.ts'

interface Project {
  readonly name: 'unit' | 'http' | 'integration' | 'faults'
  readonly usesDatabases: boolean
  /**
   * Whether each file has a process of its own. A file of the others runs in the process of the one
   * before: to load the service anew for each took half of the time.
   */
  readonly isIsolated: boolean
}

// unit: no I/O. http: the app without a socket. integration: servers, sockets, processes. faults
// (`npm run test:faults`): what takes long, because processes are started and killed, servers
// slowed, requests sent in floods and races, or a quota's minute passes.
const PROJECTS: readonly Project[] = [
  { name: 'unit', usesDatabases: false, isIsolated: false },
  { name: 'http', usesDatabases: true, isIsolated: false },
  { name: 'integration', usesDatabases: true, isIsolated: true },
  { name: 'faults', usesDatabases: true, isIsolated: true },
]

const databases = fileURLToPath(new URL('./support/global-setup.ts', import.meta.url))
const keepCompiled = fileURLToPath(new URL('./support/keep-compiled.ts', import.meta.url))

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    pool: 'forks',
    // As the service starts: much of a short test is the loading of what it tests.
    execArgv: [...QUICK_START],
    // More than there are cores: a test often waits, for a timer or for another process.
    maxWorkers: availableParallelism() + 1,
    // Wide: the machine may be shared.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // What is polled for says that it comes; how soon, a test says where that is the guarantee.
    expect: { poll: { timeout: 30_000 } },
    // Each file passes alone and in any order.
    sequence: { shuffle: true, sequencer: LongestFirst },
    reporters: ['default', new LeftOut()],
    projects: PROJECTS.map(({ name, usesDatabases, isIsolated }, groupOrder) => ({
      extends: true as const,
      test: {
        name,
        include: [`test/${name}/**/*.test.ts`],
        setupFiles: [keepCompiled],
        globalSetup: usesDatabases ? [databases] : [],
        isolate: isIsolated,
        // These wait most, for processes that start and end.
        ...(name === 'faults' && { maxWorkers: availableParallelism() + 2, testTimeout: 300_000 }),
        // One project after the other: a process is used again only for files of its project.
        sequence: { groupOrder },
        // Node runs TypeScript itself.
        experimental: { viteModuleRunner: false },
      },
    })),
  },
})
