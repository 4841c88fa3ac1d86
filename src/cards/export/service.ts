import type { ModelService } from '../../registry/models/service.ts'
import type { ReasonBaseline } from '../../scoring/reason-baseline.ts'
import {
  checkRequest,
  type ExportFormat,
  type ExportRequest,
  exportSpec,
  wrongOption,
} from './export-spec.ts'
import type { ExportThread } from './thread.ts'

/** A request that may name what reasons are measured against. */
interface ModelExportRequest extends ExportRequest {
  readonly reasonBaseline?: string | undefined
}

/** A file for a caller; a large one as its bytes in UTF-8. */
interface ExportedFile {
  readonly format: ExportFormat
  readonly content: string | Buffer
}

/** Knows the baselines of reasons. */
export interface ModelBaselines {
  /** @throws AppError `baseline_not_found` */
  baselineOfModel(teamId: string, modelId: string, baselineId: string): Promise<ReasonBaseline>
}

interface ExportServiceOptions {
  readonly models: Pick<ModelService, 'get'>
  readonly baselines: ModelBaselines
  readonly runner: Pick<ExportThread, 'run'>
}

/** Longer specs would block other requests: writing one of this length takes about 30 ms. */
const SPEC_CHARS_INLINE = 100_000

/** Exports registered cards to other languages. */
export class ExportService {
  private readonly options: ExportServiceOptions

  constructor(options: ExportServiceOptions) {
    this.options = options
  }

  /**
   * @throws AppError `invalid_request`, `model_not_found`, `baseline_not_found`, `not_exportable`,
   *   `unavailable`
   */
  async export(
    teamId: string,
    modelId: string,
    request: ModelExportRequest,
  ): Promise<ExportedFile> {
    const { models, baselines, runner } = this.options
    const { reasonBaseline, ...wanted } = request
    checkRequest(wanted)
    const { format = 'spec' } = wanted
    if (format === 'spec' && reasonBaseline !== undefined) {
      throw wrongOption('reason_baseline', 'is not allowed with the format spec')
    }
    const { specText } = await models.get(teamId, modelId)
    const baseline =
      reasonBaseline === undefined
        ? null
        : await baselines.baselineOfModel(teamId, modelId, reasonBaseline)
    // The spec was checked when it was registered.
    if (format === 'spec') return { format, content: specText }
    if (specText.length <= SPEC_CHARS_INLINE) {
      return { format, content: exportSpec(specText, wanted, baseline).text }
    }
    return { format, content: await runner.run(specText, wanted, baseline) }
  }
}
