import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { defineConfig, type Plugin } from 'vite'

/** Files that compress; fonts are compressed already. */
const COMPRESSIBLE = /\.(js|css)$/

/** The highest one, 11, takes seconds and saves a twentieth. */
const BROTLI_QUALITY = 9
/** Modules that most pages need: one file, so that the first page takes few requests. */
const SHARED = /node_modules|console\/app\/(?!pages)|pages\/sign-in\/(page|faults)|preload-helper/

/** Writes a compressed copy beside each file, so that the service only sends bytes. */
function compressFiles(): Plugin {
  return {
    name: 'compress-files',
    apply: 'build',
    async writeBundle({ dir = '' }, bundle) {
      const names = Object.keys(bundle).filter((name) => COMPRESSIBLE.test(name))
      await Promise.all(names.map((name) => compress(join(dir, name))))
    },
  }
}

async function compress(path: string): Promise<void> {
  const text = await readFile(path)
  const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY }
  const [gzipped, brotli] = await Promise.all([
    promisify(gzip)(text, { level: 9 }),
    promisify(brotliCompress)(text, { params }),
  ])
  await Promise.all([writeFile(`${path}.gz`, gzipped), writeFile(`${path}.br`, brotli)])
}

export default defineConfig({
  root: import.meta.dirname,
  // Addresses of files are relative, so that a proxy may serve the console under any path.
  base: './',
  plugins: [compressFiles()],
  logLevel: 'warn',
  build: {
    outDir: '../dist',
    emptyOutDir: true,
    target: 'es2023',
    // A script for preloading in the page would break its policy; the first page needs no hints.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1000,
    reportCompressedSize: false,
    rolldownOptions: {
      // React's markers for servers, which mean nothing here.
      checks: { pluginTimings: false },
      onwarn: (warning, warn) => warning.code === 'MODULE_LEVEL_DIRECTIVE' || warn(warning),
      output: { codeSplitting: { groups: [{ name: 'base', test: SHARED }] } },
    },
  },
})
