import { provesLevelsOf } from './levels.js'

provesLevelsOf('iid')
