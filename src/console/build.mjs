// Builds the files of the console into `dist`, when packages are installed (`npm run prepare`).

const started = performance.now()
/** Vite, or null in an installation without development tools, which gets built files otherwise. */
const vite = await import('vite').catch(() => null)
if (vite === null) {
  process.stdout.write('The console is not built: Vite is not installed.\n')
} else {
  await vite.build({ configFile: new URL('app/vite.config.ts', import.meta.url).pathname })
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  process.stdout.write(`Built the console in ${seconds} s.\n`)
}
