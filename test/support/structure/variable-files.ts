/** The files that read variables of the environment. */
export const VARIABLE_FILES = [
  'src/config.ts',
  'src/identity/auth/oidc/settings.ts',
  'src/jobs/batches/settings.ts',
  'src/platform/object-store/settings.ts',
  'src/platform/tracing/settings.ts',
  'src/platform/variable-reader.ts',
]
