import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

// unit: no I/O. http: the app without a socket. integration: servers, sockets, processes.
const project = (name: string, testTimeoutMs: number, globalSetup: string[]) => ({
  extends: true as const,
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    testTimeout: testTimeoutMs,
    hookTimeout: 60_000,
    globalSetup,
  },
})

const databases = [fileURLToPath(new URL('support/global-setup.ts', import.meta.url))]

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    pool: 'forks',
    // Two on the two cores of a small machine, where the default is one.
    maxWorkers: '100%',
    // Each file passes alone and in any order.
    sequence: { shuffle: true },
    projects: [
      project('unit', 60_000, []),
      project('http', 30_000, databases),
      project('integration', 60_000, databases),
    ],
  },
})
