import { provesLevelsOf } from './levels.js'

provesLevelsOf('gjr')
