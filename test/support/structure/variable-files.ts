/** The files that read variables of the environment. */
export const VARIABLE_FILES = [
  'src/config.ts',
  'src/auth/oidc/settings.ts',
  'src/batches/settings.ts',
  'src/platform/object-store/settings.ts',
  'src/platform/tracing/settings.ts',
]
