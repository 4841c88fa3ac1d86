import type { CellModel } from '../../engine/index.ts'

export type ModelsById = ReadonlyMap<string, CellModel>

/** Gives compiled models: blocks leave out what follows from a model and its matched bins. */
export interface ModelSource {
  /**
   * @returns the models with these ids that the database holds; others are missing from the map
   */
  compiled(modelIds: readonly string[]): Promise<ModelsById>
}
