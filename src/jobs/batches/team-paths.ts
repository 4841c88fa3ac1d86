import { Environment } from '../../../schemas/common.ts'
import { isObjectKey } from '../../platform/object-store/object-store.ts'

/** Folder of uploads and their results, in the folder of a team. */
export const UPLOAD_FOLDER = 'batches'
/** End of the folder with the results of a file, which is beside it. */
const RESULTS_END = /\.job_[0-9a-z]+$/
const ENVIRONMENTS: readonly string[] = Environment.anyOf.map((one) => one.const)

/**
 * Tells whether a caller may have the file of a path scored, in the folder of its team.
 *
 * The folders of the service are nobody's to name: they have uploads and results of both
 * environments. A folder with the name of an environment is for its keys alone. Capitals count as
 * small letters, as some file systems have it.
 *
 * @param environment null: both
 */
export function mayScoreFile(path: string, environment: Environment | null): boolean {
  const parts = path.toLowerCase().split('/')
  const [folder = ''] = parts
  if (folder === UPLOAD_FOLDER || parts.some((part) => RESULTS_END.test(part))) return false
  const isOfOne = parts.length > 1 && ENVIRONMENTS.includes(folder)
  return environment === null || !isOfOne || folder === environment
}

/** Longest name of a folder in common file systems. */
export const NAME_BYTES_MAX = 255
/** The longest name in a folder of results. */
const LONGEST_PART = 'results-000001.parquet'

/** Tells whether a store can have results in this folder. */
export function mayBeFolder(folder: string): boolean {
  const name = folder.slice(folder.lastIndexOf('/') + 1)
  return Buffer.byteLength(name) <= NAME_BYTES_MAX && isObjectKey(`${folder}/${LONGEST_PART}`)
}
