import { ExportService, type ModelBaselines } from './service.ts'
import { ExportThread } from './thread.ts'

/** Wires the export of registered models. */
export function openExports(
  models: ConstructorParameters<typeof ExportService>[0]['models'],
  baselines: ModelBaselines,
): ExportService {
  return new ExportService({ models, baselines, runner: new ExportThread() })
}
