import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

// unit: no I/O. http: the app on the embedded default. integration: PostgreSQL, sockets, processes.
const project = (name: string, testTimeoutMs: number) => ({
  extends: true as const,
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    testTimeout: testTimeoutMs,
    hookTimeout: 60_000,
  },
})

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    pool: 'forks',
    // Each file passes alone and in any order.
    sequence: { shuffle: true },
    projects: [project('unit', 30_000), project('http', 30_000), project('integration', 60_000)],
  },
})
